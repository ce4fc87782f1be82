#include "autokernel/stats/bootstrap.h"

#include <vector>

#include "autokernel/stats/summary.h"

namespace ak::stats {

Result<TimeEstimate> bootstrap_ci(std::span<const double> samples_us, const BootstrapOptions& options,
                                  Rng& rng) {
  AK_CHECK(options.level > 0 && options.level < 1 && options.resamples >= 100);
  AK_TRY_VOID(check_times(samples_us, "time"));
  std::vector<double> drawn(samples_us.size());
  std::vector<double> medians;
  medians.reserve(options.resamples);
  for (std::size_t i = 0; i < options.resamples; ++i) {
    for (double& value : drawn) value = samples_us[static_cast<std::size_t>(rng.below(samples_us.size()))];
    medians.push_back(median(drawn));
  }
  const double tail = (1 - options.level) / 2;
  return TimeEstimate{median(samples_us), quantile(medians, tail), quantile(medians, 1 - tail)};
}

}  // namespace ak::stats
