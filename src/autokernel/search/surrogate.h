#pragma once
// A smooth stand-in for the objective between measured points: kernel ridge regression (the mean of a
// Gaussian process) with squared-exponential kernels on the unit box. Cheap to ask, and it has a gradient.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace ak::search {

class Surrogate {
 public:
  explicit Surrogate(std::size_t dimensions);
  ~Surrogate();
  Surrogate(Surrogate&&) noexcept;
  Surrogate& operator=(Surrogate&&) noexcept;

  enum class LengthScale { kKeep, kChoose };
  /// Points are rows in [0, 1]^dimensions, one after the other; values have any scale. With kChoose the
  /// kernel's length is the one of a few whose leave-one-out error is the smallest. Costs O(n^3).
  void fit(std::span<const double> points, std::span<const double> values, LengthScale scale);

  struct Prediction {
    double mean = 0;
    double deviation = 0;  ///< how uncertain, in the values' unit
  };
  /// After a fit. O(n) for the mean, O(n^2) for the deviation.
  Prediction predict(std::span<const double> point) const;
  double mean(std::span<const double> point) const;
  /// Gradient of the mean by the point's coordinates. O(n).
  std::vector<double> gradient(std::span<const double> point) const;

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

}  // namespace ak::search
