#include "autokernel/plan/place.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "autokernel/plan/model_graph.h"

namespace ak::plan {
namespace {

/// The longest common start of two dotted paths, in whole segments.
std::string_view common_path(std::string_view a, std::string_view b) {
  std::size_t end = 0;  // of what is common
  for (std::size_t i = 0;; ++i) {
    const bool a_ends = i >= a.size() || a[i] == '.', b_ends = i >= b.size() || b[i] == '.';
    if (a_ends && b_ends) end = i;
    if (i >= a.size() || i >= b.size() || a[i] != b[i]) return a.substr(0, end);
  }
}

/// "layers.12.mlp" -> "layers.*.mlp"
std::string without_numbers(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    const std::string_view segment = path.substr(0, end);
    const bool number =
        !segment.empty() && std::all_of(segment.begin(), segment.end(),
                                        [](unsigned char each) { return std::isdigit(each) != 0; });
    text += fmt::format("{}{}", text.empty() ? "" : ".", number ? "*" : segment);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return text;
}

}  // namespace

void add_place(const Trace& trace, const CallTree& tree, std::span<const std::uint32_t> ops,
               std::vector<Place>& places) {
  std::optional<std::string_view> module;
  Place place;
  for (const std::uint32_t op : ops) {
    const std::uint32_t label = tree.label(op);
    if (label == kNoLabel) continue;
    const PlaceName name = place_name(trace.names.text(trace.labels[label].name));
    module = module ? common_path(*module, name.module) : name.module;
    const bool known = std::find(place.nodes.begin(), place.nodes.end(), name.node) != place.nodes.end();
    if (!name.node.empty() && !known) place.nodes.emplace_back(name.node);
  }
  if (!module) return;
  place.module = *module;
  if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
}

std::string modules_text(const std::vector<Place>& places) {
  std::vector<std::pair<std::string, std::size_t>> patterns;  // in order, with the first place of each
  std::vector<bool> alone;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string pattern = without_numbers(places[i].module);
    const auto it = std::find_if(patterns.begin(), patterns.end(),
                                 [&](const auto& each) { return each.first == pattern; });
    if (it == patterns.end()) {
      patterns.emplace_back(pattern, i);
      alone.push_back(true);
    } else if (places[it->second].module != places[i].module) {
      alone[static_cast<std::size_t>(it - patterns.begin())] = false;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string& shown = alone[i] ? places[patterns[i].second].module : patterns[i].first;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", shown.empty() ? "(model)" : shown);
  }
  return text;
}

}  // namespace ak::plan
