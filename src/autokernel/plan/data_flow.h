#pragma once
// Whether a sequence of ops that a trace shows also holds in the model's graph.
//
// A trace tells the order of the ops and their shapes, not which result goes where: an addition before a norm
// of another tensor of the same shape looks like a residual. With the graph it is seen. A match must read
// what its table says it reads, and what it keeps to itself must have no other reader.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "autokernel/op/op_family.h"
#include "autokernel/plan/call_tree.h"
#include "autokernel/plan/model_graph.h"
#include "autokernel/plan/op_traits.h"
#include "autokernel/plan/trace.h"

namespace ak::plan {

class DataFlow {
 public:
  /// All of them must outlive it.
  DataFlow(const Trace& trace, const CallTree& tree, const OpTraits& traits, const ModelGraph& graph);

  /// `ops` are those of the match's steps; kNoOp for views that were not seen. What has no label is taken to
  /// fit, and of views only what they are of: an alignment does not tell which of several is which.
  bool allows(const op::Family& family, const op::Match& match, std::span<const std::uint32_t> ops) const;

 private:
  void find_passages(const Trace& trace);
  std::uint32_t node_of(std::uint32_t op) const;
  std::vector<std::uint32_t> nodes_of(std::span<const std::uint32_t> ops) const;
  bool reads(std::uint32_t reader, std::uint32_t written) const;
  std::set<std::uint32_t> sources(std::uint32_t node) const;
  bool read_outside(std::uint32_t node, const std::set<std::uint32_t>& inside) const;

  const CallTree& tree_;
  const OpTraits& traits_;
  const ModelGraph& graph_;
  std::vector<std::uint32_t> nodes_;  // of each label
  std::vector<bool> passes_;          // per node: it only views or casts what it reads
};

}  // namespace ak::plan
