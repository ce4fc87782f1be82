#pragma once
// Percentile bootstrap (Efron, 1979): an interval for a statistic without a model of the noise, by
// recomputing it on samples drawn with replacement from the measured ones.

#include <cstddef>
#include <span>

#include "autokernel/base/random.h"
#include "autokernel/base/result.h"
#include "autokernel/core/verdict.h"

namespace ak::stats {

struct BootstrapOptions {
  double level = 0.95;           ///< in (0, 1)
  std::size_t resamples = 1000;  ///< at least 100
};

/// Median of per-round times and its interval, microseconds. Errors as check_times.
Result<TimeEstimate> bootstrap_ci(std::span<const double> samples_us, const BootstrapOptions& options,
                                  Rng& rng);

}  // namespace ak::stats
