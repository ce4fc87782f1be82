#pragma once
// Is the candidate faster than the incumbent? Both are timed in A B B A rounds, so that drifts of the clock
// hit both.
//
//   AK_TRY(ratio, stats::objective_ratio(problems, {}, rng));
//   if (stats::is_faster(ratio, 0.01) == stats::Answer::kYes) keep();

#include <span>
#include <vector>

#include "autokernel/base/random.h"
#include "autokernel/base/result.h"
#include "autokernel/stats/bootstrap.h"

namespace ak::stats {

/// Incumbent time / candidate time: above 1 the candidate is faster.
struct RatioCI {
  double ratio = 1;
  double ci_low = 1;
  double ci_high = 1;
};

/// One problem of an objective. Round i of the incumbent and round i of the candidate were measured next to
/// each other, the incumbent first in even rounds and second in odd ones (A B B A A B B A ...).
struct PairedSamples {
  double calls = 1;  ///< weight of the problem: how often the model runs it
  std::vector<double> incumbent;
  std::vector<double> candidate;
};

/// Ratio of one problem: the median log ratio of the pairs, after a drift is taken out (it moves the pairs
/// that the incumbent began and those that the candidate began in opposite directions). The interval is the
/// percentile bootstrap's, widened for few rounds.
Result<RatioCI> paired_ratio(std::span<const double> incumbent, std::span<const double> candidate,
                             const BootstrapOptions& options, Rng& rng);

/// Ratio of the objective, the sum of calls x time: each resample draws the pairs of every problem anew and
/// sums. A problem's candidate time is its incumbent's median divided by the paired ratio. At least one
/// problem; calls are finite and not negative, and one of them is above zero.
Result<RatioCI> objective_ratio(std::span<const PairedSamples> problems, const BootstrapOptions& options,
                                Rng& rng);

/// Upper end / lower end above which an interval says too little to act on: the rounds scatter by as much as
/// the difference that is claimed.
inline constexpr double kWidestInterval = 2;
bool too_wide(const RatioCI& ratio);

enum class Answer { kYes, kNo, kAmbiguous };

/// The keep rule: yes if the whole interval lies above 1 + threshold and is not too wide, no if none of it
/// does, else ambiguous.
Answer is_faster(const RatioCI& ratio, double threshold);

}  // namespace ak::stats
