#pragma once
// A site of a plan becomes a target: the model's problem with its weight, neighbours that are checked beside
// it, and the kernel file to start from.

#include <string>
#include <vector>

#include "autokernel/core/device_info.h"
#include "autokernel/op/op_family.h"
#include "autokernel/plan/plan.h"

namespace ak::plan {

struct Extraction {
  Target target;            ///< its id is the site's
  std::string toml;         ///< target.toml
  std::string kernel_name;  ///< of the family's file; empty: none covers the site
  std::string kernel_text;
  std::vector<std::string> notes;  ///< what is missing or was assumed, for people
};

/// The family's file that covers the site's problem on `device`, one for its architecture before others, then
/// the one with the largest space of configs; neighbours are within what it covers. DeviceInfo{} stands for
/// any GPU. Errors are those of broken families.
Result<Extraction> extract(const PlanSite& site, const op::Registry& registry, const DeviceInfo& device);

}  // namespace ak::plan
