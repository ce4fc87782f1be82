#pragma once
// What is worth optimizing in a model: its sites, merged by problem, with their share of the device time,
// their floors, and what Amdahl's law gives for them.

#include <optional>
#include <string>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/core/problem.h"
#include "autokernel/op/op_family.h"
#include "autokernel/plan/call_tree.h"
#include "autokernel/plan/matcher.h"
#include "autokernel/plan/trace.h"
#include "autokernel/roofline/peaks.h"

namespace ak::plan {

/// A site is worthwhile where the model as a whole could become faster by this much (0.01: 1 %).
inline constexpr double kWorthwhileGain = 0.01;

struct PlanSite {
  std::string id;  ///< "rmsnorm_3f9a2c": the family and the problem's hash, the same in each plan
  Problem problem;
  double calls = 0;
  double time_us = 0;                  ///< of all calls
  double share = 0;                    ///< of the whole time, 0 to 1
  double cumulative_share = 0;         ///< of this site and those before it
  std::optional<double> floor_us;      ///< of all calls; nullopt: the device's figures are not known
  std::string bound = "unknown";       ///< memory, compute, unknown: what sets the floor
  double ceiling = 1;                  ///< 1 / (1 - share): the model's speedup if the site took no time
  std::optional<double> realistic_us;  ///< time that is saved when the site runs at its floor
  int priority = 0;                    ///< 1 is the first to optimize; 0: not worthwhile
  std::vector<std::string> aten;       ///< ops that it consists of
  std::vector<std::string> kernels;    ///< the longest-running first
  std::vector<Place> places;           ///< in the model, each once; empty: the trace has no labels
  std::vector<std::string> assumed;    ///< what the trace does not tell: defaults; in the stored plan only
};

struct AtenShare {
  std::string aten;
  double time_us = 0;
  double share = 0;
};

struct Plan {
  std::string device;  ///< that the trace was recorded on, by its name; empty: not told, or the CPU
  double total_us = 0;
  double unattributed_share = 0;
  std::vector<PlanSite> sites;     ///< the largest share first
  double model_ceiling = 1;        ///< the model's speedup when every site runs at its floor
  std::vector<AtenShare> other;    ///< what belongs to no site, by innermost op
  std::vector<AtenShare> by_aten;  ///< all of the time, by innermost op
};

/// `peaks` are those of the device of the trace; nullopt where they are not known.
Result<Plan> make_plan(const Trace& trace, const CallTree& tree, const MatchedTrace& matched,
                       const std::optional<roofline::Peaks>& peaks);

/// Sites by priority; those that are not worthwhile are left out.
std::vector<const PlanSite*> by_priority(const Plan& plan);

Json to_json(const Plan& plan);
/// With what was assumed, for `plan_from_json` of later commands.
Json stored_json(const Plan& plan);
/// Checked against the families: a plan of another version, or of families that are not there, is an error.
Result<Plan> plan_from_json(const Json& json, const std::string& what, const op::Registry& registry);

}  // namespace ak::plan
