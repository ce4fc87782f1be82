#pragma once
// Order statistics of measured times.

#include <cstddef>
#include <span>
#include <string_view>

#include "autokernel/base/result.h"

namespace ak::stats {

/// Fewer rounds than this say nothing about their own spread.
inline constexpr std::size_t kMinSamples = 5;

/// At least kMinSamples, all finite and above zero; else an error that names `what` and the first bad value.
Status check_times(std::span<const double> samples, std::string_view what);

/// The middle value, or the mean of the two middle ones. At least one value, no NaN.
double median(std::span<const double> values);

/// Linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996). 0 <= q <= 1; at least one
/// value, no NaN.
double quantile(std::span<const double> values, double q);

/// Quantiles of the standard normal and of Student's t distribution, 0.5 <= p < 1; degrees of freedom >= 3
/// (the Cornish-Fisher expansion: within 1 % there for p <= 0.975).
double normal_quantile(double p);
double student_quantile(double p, double degrees);

/// The smallest relative difference between two medians that rounds as noisy as these can show at 95 %, as a
/// fraction (0.01: one percent). The noise is taken from differences between successive rounds, so that a
/// slow drift of the clock does not count, with a median, so that outliers do not.
Result<double> noise_floor(std::span<const double> samples);

}  // namespace ak::stats
