#pragma once
// Fills in what the profiler does not record of an op's arguments and the model's graph knows: texts ("tanh")
// and numbers that PyTorch wraps as tensors (the eps of a norm that is written by hand).

#include "autokernel/op/op_family.h"
#include "autokernel/plan/call_tree.h"
#include "autokernel/plan/model_graph.h"
#include "autokernel/plan/trace.h"

namespace ak::plan {

/// Only where nothing is left to choose: one constant of the node, and one argument of the node's op that it
/// can be. Which arguments are texts, the match tables say.
void fill_values(Trace& trace, const CallTree& tree, const ModelGraph& graph, const op::Registry& registry);

}  // namespace ak::plan
