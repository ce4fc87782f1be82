#pragma once
// Finds the families' ops and unfused sequences in a trace, by the [[match]] tables.
//
// A trace does not say which tensor goes where. A sequence is taken for one where its ops follow each other
// on one thread with nothing but views between them, and all shapes, dtypes and values fit; with the model's
// graph the results must also go where the table says. Of several that begin at one op the longest is taken,
// else the first in the table.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autokernel/op/op_family.h"
#include "autokernel/plan/call_tree.h"
#include "autokernel/plan/model_graph.h"
#include "autokernel/plan/op_traits.h"
#include "autokernel/plan/place.h"
#include "autokernel/plan/trace.h"

namespace ak::plan {

/// All places of one problem.
struct FoundSite {
  const op::Family* family = nullptr;
  Problem problem;
  std::vector<std::string> assumed;  ///< scalars and flags that the trace does not tell
  std::uint64_t calls = 0;
  std::int64_t time_ns = 0;
  std::vector<Place> places;                      ///< each once; empty: a trace without labels
  std::vector<std::string> ops;                   ///< of the first place, in order, each once
  std::map<std::uint32_t, std::int64_t> kernels;  ///< name -> time
};

struct MatchedTrace {
  std::vector<FoundSite> sites;  ///< in order of appearance
  std::vector<bool> covered;     ///< per op of the tree: its work belongs to a site
};

/// `graph` is that of the model of the trace, or null.
MatchedTrace match_trace(const Trace& trace, const CallTree& tree, const op::Registry& registry,
                         const OpTraits& traits, const ModelGraph* graph = nullptr);

}  // namespace ak::plan
