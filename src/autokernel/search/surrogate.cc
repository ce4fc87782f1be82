#include "autokernel/search/surrogate.h"

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <limits>

#include "autokernel/base/result.h"

namespace ak::search {

using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Relative to the diagonal of the box.
constexpr std::array kLengths{0.1, 0.18, 0.3, 0.5};
constexpr double kRidge = 1e-3;

}  // namespace

struct Surrogate::Model {
  explicit Model(std::size_t dimension_count) : dimensions(static_cast<Eigen::Index>(dimension_count)) {}

  double scale() const { return 1 / (2 * length * length * static_cast<double>(dimensions)); }

  MatrixXd kernel_matrix() const {
    const VectorXd norms = points.colwise().squaredNorm();
    MatrixXd kernel = -2 * points.transpose() * points;
    kernel.colwise() += norms;
    kernel.rowwise() += norms.transpose();
    kernel = (-scale() * kernel.array()).exp().matrix();
    kernel.diagonal().array() += kRidge;
    return kernel;
  }

  VectorXd kernel_vector(std::span<const double> point) const {
    const Map<const VectorXd> x(point.data(), dimensions);
    return (-scale() * (points.colwise() - x).colwise().squaredNorm().array()).exp().matrix().transpose();
  }

  /// Leave-one-out residuals are weight_i / (K^-1)_ii (Rasmussen and Williams, 2006, section 5.4.2).
  double leave_one_out_error() const {
    const MatrixXd inverse = factor.solve(MatrixXd::Identity(points.cols(), points.cols()));
    return (weights.array() / inverse.diagonal().array()).square().mean();
  }

  void solve() {
    factor.compute(kernel_matrix());
    weights = factor.solve(standardised);
  }

  Eigen::Index dimensions;
  MatrixXd points;  // one column each
  VectorXd standardised;
  double offset = 0;
  double unit = 1;
  double length = 0.3;
  Eigen::LLT<MatrixXd> factor;
  VectorXd weights;
};

Surrogate::Surrogate(std::size_t dimensions) : model_(std::make_unique<Model>(dimensions)) {}
Surrogate::~Surrogate() = default;
Surrogate::Surrogate(Surrogate&&) noexcept = default;
Surrogate& Surrogate::operator=(Surrogate&&) noexcept = default;

void Surrogate::fit(std::span<const double> points, std::span<const double> values, LengthScale scale) {
  Model& model = *model_;
  const auto count = static_cast<Eigen::Index>(values.size());
  AK_CHECK(count > 0 && points.size() == values.size() * static_cast<std::size_t>(model.dimensions));
  model.points = Map<const MatrixXd>(points.data(), model.dimensions, count);
  const Map<const VectorXd> raw(values.data(), count);
  model.offset = raw.mean();
  const double deviation = std::sqrt((raw.array() - model.offset).square().mean());
  model.unit = deviation > 0 ? deviation : 1;
  model.standardised = (raw.array() - model.offset) / model.unit;
  if (scale == LengthScale::kChoose) {
    double best_error = std::numeric_limits<double>::infinity();
    double best_length = model.length;
    for (const double length : kLengths) {
      model.length = length;
      model.solve();
      const double error = model.leave_one_out_error();
      if (error < best_error) {
        best_error = error;
        best_length = length;
      }
    }
    model.length = best_length;
  }
  model.solve();
}

double Surrogate::mean(std::span<const double> point) const {
  return model_->offset + model_->unit * model_->kernel_vector(point).dot(model_->weights);
}

Surrogate::Prediction Surrogate::predict(std::span<const double> point) const {
  const VectorXd kernel = model_->kernel_vector(point);
  const VectorXd half = model_->factor.matrixL().solve(kernel);
  const double variance = std::max(0.0, 1 + kRidge - half.squaredNorm());
  return {model_->offset + model_->unit * kernel.dot(model_->weights), model_->unit * std::sqrt(variance)};
}

std::vector<double> Surrogate::gradient(std::span<const double> point) const {
  const Map<const VectorXd> x(point.data(), model_->dimensions);
  const VectorXd pull = model_->kernel_vector(point).cwiseProduct(model_->weights);
  // d/dx exp(-s |x - p|^2) = 2 s (p - x) exp(...)
  const VectorXd sum = 2 * model_->scale() * model_->unit * ((model_->points * pull) - pull.sum() * x);
  return {sum.begin(), sum.end()};
}

}  // namespace ak::search
