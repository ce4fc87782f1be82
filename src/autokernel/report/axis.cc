#include "autokernel/report/axis.h"

#include <algorithm>
#include <cmath>

namespace ak::report {

namespace {

/// 1, 2 or 5 times a power of ten, at least `step`.
double round_up(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> multiples(double low, double high, double step) {
  std::vector<double> values;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
    values.push_back(i * step + 0.0);  // never -0
  return values;
}

}  // namespace

Axis::Axis(AxisScale scale, double low, double high, double first, double last)
    : scale_(scale), low_(low), high_(high), first_(first), last_(last) {
  if (high_ > low_) return;
  const double half = low_ == 0 ? 1 : std::abs(low_) * 0.1;
  high_ = low_ + half;
  low_ -= half;
}

double Axis::pixel(double value) const {
  const double share = scale_ == AxisScale::kLog ? std::log(value / low_) / std::log(high_ / low_)
                                                 : (value - low_) / (high_ - low_);
  return first_ + share * (last_ - first_);
}

std::vector<double> Axis::ticks(int count) const {
  if (scale_ == AxisScale::kLinear) return multiples(low_, high_, round_up((high_ - low_) / count));
  std::vector<double> values;
  for (double power = std::pow(10.0, std::floor(std::log10(low_))); power <= high_; power *= 10) {
    for (double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= low_ && factor * power <= high_) values.push_back(factor * power);
    }
  }
  if (values.size() < 3) return multiples(low_, high_, round_up((high_ - low_) / count));
  const std::size_t most = static_cast<std::size_t>(2 * count);
  if (values.size() > most) {  // powers of ten alone
    std::erase_if(values, [](double value) {
      const double exponent = std::log10(value);
      return std::abs(exponent - std::round(exponent)) > 1e-6;
    });
  }
  while (values.size() > most) {
    std::vector<double> half;
    for (std::size_t i = 0; i < values.size(); i += 2) half.push_back(values[i]);
    values = std::move(half);
  }
  return values;
}

std::vector<double> Axis::whole_ticks(int count) const {
  return multiples(low_, high_, std::max(1.0, round_up((high_ - low_) / count)));
}

}  // namespace ak::report
