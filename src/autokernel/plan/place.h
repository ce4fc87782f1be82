#pragma once
// Where in the model a site is: from the labels of the bridge around its ops.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autokernel/plan/call_tree.h"
#include "autokernel/plan/trace.h"

namespace ak::plan {

/// One place of a site in the model.
struct Place {
  std::string module;              ///< path of the innermost module around all of it; empty: the model itself
  std::vector<std::string> nodes;  ///< of the graph, in order; empty where none was captured
  bool operator==(const Place&) const = default;
};

/// Adds the place of these ops, unless it is there (a later iteration) or the ops have no labels.
void add_place(const Trace& trace, const CallTree& tree, std::span<const std::uint32_t> ops,
               std::vector<Place>& places);

/// "layers.*.mlp": the modules of the places, numbers that differ as `*`; "layers.0, head" where that is not
/// one. Empty: there are no places.
std::string modules_text(const std::vector<Place>& places);

}  // namespace ak::plan
