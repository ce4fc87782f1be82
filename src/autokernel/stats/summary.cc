#include "autokernel/stats/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ak::stats {

Status check_times(std::span<const double> samples, std::string_view what) {
  if (samples.size() < kMinSamples) {
    return environment_error("{}: {} rounds were measured, at least {} are needed", what, samples.size(),
                             kMinSamples);
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!std::isfinite(samples[i]) || samples[i] <= 0) {
      return environment_error("{}: round {} has the time {}, which is no duration: the timer is unusable",
                               what, i, samples[i]);
    }
  }
  return {};
}

double quantile(std::span<const double> values, double q) {
  AK_CHECK(!values.empty() && q >= 0 && q <= 1);
  std::vector<double> sorted(values.begin(), values.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double low = *middle;
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return low;
  const double high = *std::min_element(middle + 1, sorted.end());
  return low + fraction * (high - low);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double normal_quantile(double p) {
  AK_CHECK(p >= 0.5 && p < 1);
  double low = 0;
  double high = 40;
  for (int i = 0; i < 60; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(z / std::sqrt(2.0)) / 2 > 1 - p ? low : high) = z;
  }
  return low;
}

double student_quantile(double p, double degrees) {
  AK_CHECK(degrees >= 3);
  const double z = normal_quantile(p);
  const double z2 = z * z;
  // Abramowitz and Stegun, 26.7.5.
  const double first = z * (z2 + 1) / 4;
  const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  return z + first / degrees + second / (degrees * degrees) + third / (degrees * degrees * degrees);
}

Result<double> noise_floor(std::span<const double> samples) {
  AK_TRY_VOID(check_times(samples, "noise floor"));
  std::vector<double> steps;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    steps.push_back(std::abs(std::log(samples[i] / samples[i - 1])));
  }
  // 1.4826 x the median absolute value estimates a normal standard deviation; a difference has sqrt(2) times
  // the deviation of a round. A median has sqrt(pi / 2) times the standard error of a mean, two of them are
  // compared.
  const double round_deviation = 1.4826 * median(steps) / std::sqrt(2.0);
  const double pi = 3.14159265358979324;
  const double median_error =
      std::sqrt(pi / 2) * round_deviation / std::sqrt(static_cast<double>(samples.size()));
  return 1.96 * std::sqrt(2.0) * median_error;
}

}  // namespace ak::stats
