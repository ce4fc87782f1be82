#include "autokernel/plan/model_graph.h"

#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"

namespace ak::plan {
namespace {

struct RawNode {
  std::string name, module;
  std::vector<std::string> inputs;
};

Result<RawNode> raw_node(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  RawNode node;
  in.read("name", node.name);
  in.read("module", node.module);
  in.read("inputs", node.inputs);
  return in.finish(std::move(node));
}

}  // namespace

Result<ModelGraph> ModelGraph::from_json(const Json& nodes, const std::string& what) {
  if (!nodes.is_array()) return usage_error("{}: expected a list of nodes", what);
  ModelGraph graph;
  for (const Json& each : nodes) {
    const auto index = static_cast<std::uint32_t>(graph.nodes_.size());
    AK_TRY(raw, raw_node(each, fmt::format("{}[{}]", what, index)));
    GraphNode node{std::move(raw.name), std::move(raw.module), {}, {}};
    for (const std::string& name : raw.inputs) {
      const std::optional<std::uint32_t> input = graph.find(name);
      if (!input)
        return usage_error("{}[{}]: {} reads `{}`, which is no node before it", what, index, node.name, name);
      node.inputs.push_back(*input);
      graph.nodes_[*input].users.push_back(index);
    }
    if (!graph.by_name_.emplace(node.name, index).second)
      return usage_error("{}[{}]: there are two nodes `{}`", what, index, node.name);
    graph.nodes_.push_back(std::move(node));
  }
  return graph;
}

std::optional<std::uint32_t> ModelGraph::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? std::nullopt : std::optional(it->second);
}

PlaceName place_name(std::string_view label) {
  const std::size_t mark = label.rfind('#');
  if (mark == std::string_view::npos) return {label, {}};
  return {label.substr(0, mark), label.substr(mark + 1)};
}

}  // namespace ak::plan
