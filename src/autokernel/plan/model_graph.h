#pragma once
// The FX graph of a model, as `autokernel profile` records it: nodes that hold tensors, and which reads
// which.
//
//   AK_TRY(graph, plan::ModelGraph::from_json(nodes, "profile.json.graph.nodes"));

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"
#include "autokernel/plan/trace.h"

namespace ak::plan {

struct GraphNode {
  std::string name;    ///< unique
  std::string module;  ///< path of the innermost module around it; empty: the model itself
  std::vector<std::uint32_t> inputs, users;
  std::vector<double> numbers;     ///< constants among its arguments
  std::vector<std::string> texts;  ///< "tanh"
};

inline constexpr std::uint32_t kNoNode = 0xffffffff;

class ModelGraph {
 public:
  /// A list of objects with `name`, `module`, `inputs` (names of nodes before it) and, where there are
  /// constants, `numbers` and `texts`.
  static Result<ModelGraph> from_json(const Json& nodes, const std::string& what);

  std::size_t size() const { return nodes_.size(); }
  const GraphNode& node(std::uint32_t index) const { return nodes_[index]; }
  std::optional<std::uint32_t> find(std::string_view name) const;

 private:
  std::vector<GraphNode> nodes_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
};

/// A label of the trace, "layers.0.mlp#mul_3": the module and the node. Without "#" there is no node.
struct PlaceName {
  std::string_view module, node;
};
PlaceName place_name(std::string_view label);

/// The node of each label of the trace; kNoNode where the graph has none of that name.
std::vector<std::uint32_t> label_nodes(const Trace& trace, const ModelGraph& graph);

}  // namespace ak::plan
