#pragma once
// The objective of a target: the sum of calls x time over its primary problems. Times of a config are those
// of the start divided by the paired ratio, so that configs measured minutes apart are compared without the
// machine's drift.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/base/random.h"
#include "autokernel/core/experiment.h"
#include "autokernel/core/problem.h"
#include "autokernel/core/verdict.h"
#include "autokernel/stats/paired.h"

namespace ak::campaign {

class Objective {
 public:
  /// `start`: time of the start per problem id.
  Objective(const Target& target, std::map<std::string, TimeEstimate> start);

  /// Drift-free time of one trial: the start's median / ratio; the trial's own median when it was timed
  /// alone.
  double time_us(const Trial& trial) const;
  /// Of the trials of one config; problems it cannot run cost what the start costs. Infinity: some trial
  /// failed.
  double of(std::span<const Trial> trials) const;
  double start_us() const;
  TimeEstimate start() const;

 private:
  std::map<std::string, double> calls_;
  std::map<std::string, TimeEstimate> start_;
};

/// One row per timed problem of a verdict, or one row with the failure.
std::vector<Trial> trials_of_verdict(const Verdict& verdict, const Config& config, std::int64_t experiment,
                                     const Target& target);

/// Incumbent against candidate over all problems of a verdict, with its interval.
Result<stats::RatioCI> ratio_of_verdict(const Verdict& verdict, const Target& target, Rng& rng);

/// Sum of calls x time with the intervals added.
TimeEstimate objective_of_verdict(const Verdict& verdict, const Target& target);
/// The same of the incumbent that was timed beside the candidate.
TimeEstimate incumbent_objective(const Verdict& verdict, const Target& target);

}  // namespace ak::campaign
