#pragma once
// Axes of plots: round tick values and the way from values to pixels. Private to the library.

#include <string>
#include <vector>

namespace ak::report {

enum class AxisScale { kLinear, kLog };

class Axis {
 public:
  /// Values from `low` to `high` (equal ones are widened) on pixels from `first` to `last`. kLog needs low >
  /// 0.
  Axis(AxisScale scale, double low, double high, double first, double last);
  double pixel(double value) const;
  AxisScale scale() const { return scale_; }
  double low() const { return low_; }
  double high() const { return high_; }
  /// Round values inside the range, about `count`, never more than twice as many.
  std::vector<double> ticks(int count) const;
  /// Whole numbers only.
  std::vector<double> whole_ticks(int count) const;

 private:
  AxisScale scale_;
  double low_, high_, first_, last_;
};

}  // namespace ak::report
