#include "autokernel/plan/graph_values.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "autokernel/base/json.h"

namespace ak::plan {
namespace {

constexpr char kSeparator = '\x1e';  // of Trace::arguments: dims, types, strides, values

/// Places of arguments that match tables compare with texts, by op.
using TextPlaces = std::map<std::string, std::set<std::size_t>, std::less<>>;

TextPlaces text_places(const op::Registry& registry) {
  TextPlaces places;
  for (const op::Family& family : registry.families()) {
    for (const op::Match& match : family.matches) {
      for (const op::MatchStep& step : match.steps) {
        for (std::size_t i = 0; i < step.arguments.size(); ++i) {
          if (step.arguments[i].text.starts_with('\'')) places[step.op].insert(i);
        }
      }
    }
  }
  return places;
}

class RecordedArguments {
 public:
  explicit RecordedArguments(std::string_view raw) {
    const std::size_t last = raw.rfind(kSeparator);
    if (last == std::string_view::npos) return;
    head_ = raw.substr(0, last + 1);
    values_ = Json::parse(raw.substr(last + 1), nullptr, false);
    const std::size_t dims_end = raw.find(kSeparator);
    dims_ = Json::parse(raw.substr(0, dims_end), nullptr, false);
    raw.remove_prefix(dims_end + 1);
    types_ = Json::parse(raw.substr(0, raw.find(kSeparator)), nullptr, false);
  }

  bool ok() const {
    return values_.is_array() && dims_.is_array() && types_.is_array() && values_.size() == dims_.size() &&
           types_.size() == dims_.size();
  }
  std::size_t size() const { return values_.size(); }
  bool recorded(std::size_t i) const { return values_[i] != ""; }
  bool has_type(std::size_t i) const { return types_[i] != ""; }
  /// A number that was wrapped, or a tensor without dims.
  bool may_be_wrapped(std::size_t i) const {
    return (types_[i] == "double" || types_[i] == "long int") && dims_[i].empty() && !recorded(i);
  }
  bool is_tensor(std::size_t i) const { return has_type(i) && !recorded(i); }
  bool changed() const { return changed_; }
  void set(std::size_t i, std::string value) {
    values_[i] = std::move(value);
    changed_ = true;
  }
  std::string text() const { return head_ + values_.dump(-1, ' ', true, Json::error_handler_t::replace); }

 private:
  std::string head_;
  Json dims_, types_, values_;
  bool changed_ = false;
};

/// The one wrapped number among the arguments, if the node reads all other tensors.
std::optional<std::size_t> wrapped_number(const RecordedArguments& arguments, const GraphNode& node) {
  std::optional<std::size_t> found;
  std::size_t tensors = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments.is_tensor(i)) ++tensors;
    if (!arguments.may_be_wrapped(i)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return tensors == node.inputs.size() + 1 ? found : std::nullopt;
}

/// The node's only outermost op; kNoOp where it made none or several.
std::vector<std::uint32_t> only_ops(const Trace& trace, const CallTree& tree, const ModelGraph& graph) {
  constexpr std::uint32_t kSeveral = kNoOp - 1;
  const std::vector<std::uint32_t> nodes = label_nodes(trace, graph);
  std::vector<std::uint32_t> ops(trace.labels.size(), kNoOp);  // by label: a node has one in each iteration
  for (std::uint32_t op = 0; op < tree.size(); op = tree.end(op)) {
    const std::uint32_t label = tree.label(op);
    if (label != kNoLabel && nodes[label] != kNoNode) ops[label] = ops[label] == kNoOp ? op : kSeveral;
  }
  for (std::uint32_t& op : ops) {
    if (op == kSeveral) op = kNoOp;
  }
  return ops;
}

}  // namespace

void fill_values(Trace& trace, const CallTree& tree, const ModelGraph& graph, const op::Registry& registry) {
  const TextPlaces places = text_places(registry);
  const std::vector<std::uint32_t> nodes = label_nodes(trace, graph);
  const std::vector<std::uint32_t> ops = only_ops(trace, tree, graph);
  for (std::size_t label = 0; label < ops.size(); ++label) {
    if (ops[label] == kNoOp) continue;
    const GraphNode& node = graph.node(nodes[label]);
    if (node.numbers.size() != 1 && node.texts.size() != 1) continue;
    CpuOp& op = trace.ops[ops[label]];
    RecordedArguments arguments(trace.arguments.text(op.arguments));
    if (!arguments.ok()) continue;
    if (node.numbers.size() == 1) {
      if (const auto at = wrapped_number(arguments, node))
        arguments.set(*at, fmt::format("{}", node.numbers[0]));
    }
    const auto texts = places.find(op::without_in_place(trace.names.text(op.name)));
    if (node.texts.size() == 1 && texts != places.end() && texts->second.size() == 1) {
      const std::size_t at = *texts->second.begin();
      if (at < arguments.size() && !arguments.has_type(at) && !arguments.recorded(at))
        arguments.set(at, node.texts[0]);
    }
    if (arguments.changed()) op.arguments = trace.arguments.add(arguments.text());
  }
}

}  // namespace ak::plan
