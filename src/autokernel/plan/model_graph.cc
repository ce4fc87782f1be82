#include "autokernel/plan/model_graph.h"

#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"

namespace ak::plan {
namespace {

struct RawNode {
  GraphNode node;
  std::vector<std::string> inputs;
};

Result<RawNode> raw_node(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  RawNode raw;
  in.read("name", raw.node.name);
  in.read("module", raw.node.module);
  in.read("inputs", raw.inputs);
  if (json.contains("numbers")) in.read("numbers", raw.node.numbers);
  if (json.contains("texts")) in.read("texts", raw.node.texts);
  return in.finish(std::move(raw));
}

}  // namespace

Result<ModelGraph> ModelGraph::from_json(const Json& nodes, const std::string& what) {
  if (!nodes.is_array()) return usage_error("{}: expected a list of nodes", what);
  ModelGraph graph;
  for (const Json& each : nodes) {
    const auto index = static_cast<std::uint32_t>(graph.nodes_.size());
    AK_TRY(raw, raw_node(each, fmt::format("{}[{}]", what, index)));
    GraphNode node = std::move(raw.node);
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

std::vector<std::uint32_t> label_nodes(const Trace& trace, const ModelGraph& graph) {
  std::vector<std::uint32_t> nodes;
  for (const SiteLabel& label : trace.labels)
    nodes.push_back(graph.find(place_name(trace.names.text(label.name)).node).value_or(kNoNode));
  return nodes;
}

}  // namespace ak::plan
