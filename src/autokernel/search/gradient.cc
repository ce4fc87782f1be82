// Gradient descent where there is no gradient: a surrogate is fitted to the answers, descent runs on it from
// the best configs and from promising random ones, and the lowest end is projected to the nearest untried
// config.

#include <algorithm>
#include <cmath>

#include "autokernel/search/strategies.h"
#include "autokernel/search/strategy_base.h"
#include "autokernel/search/surrogate.h"

namespace ak::search {
namespace {

constexpr std::size_t kSeeds = 16;
constexpr std::size_t kMostPoints = 96;  ///< bounds the cost of a fit (n^3)
constexpr std::size_t kScaleEvery = 16;  ///< answers between two choices of the length scale
constexpr std::size_t kCandidates = 48;
constexpr std::size_t kStarts = 3;
constexpr int kSteps = 15;
constexpr double kRandomShare = 0.08;
/// How many deviations of uncertainty count as an advantage.
constexpr double kOptimism = 2.0;

class Gradient final : public StrategyBase {
 public:
  Gradient(const kernel::Space& space, StrategyOptions options)
      : StrategyBase("gradient", space, std::move(options), kUsualGuesses), surrogate_(space.dimensions()) {}

 private:
  using Point = std::vector<double>;
  struct Start {
    Point point;
    double promise;         ///< lower is better
    std::size_t index = 0;  ///< of the config at the point
  };

  std::size_t choose() override {
    if (measured().size() + pending().size() < kSeeds || !best()) return draw_untried();
    if (rng().uniform() < kRandomShare) return draw_untried();
    fit();
    std::vector<Start> starts = candidates();
    const std::size_t count = std::min(kStarts, starts.size());
    std::partial_sort(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(count), starts.end(),
                      [](const Start& a, const Start& b) { return a.promise < b.promise; });
    Start lowest = starts.front();
    for (std::size_t i = 0; i < count; ++i) {
      Point end = descend(starts[i].point);
      const double promise = this->promise(end);
      if (promise < lowest.promise) lowest = {std::move(end), promise};
    }
    // What is left around the lowest end may be worse than a candidate that exists.
    const std::size_t projected = nearest_untried(to_positions(lowest.point));
    return promise(to_unit(projected)) <= starts.front().promise ? projected : starts.front().index;
  }

  void learn(std::size_t, double) override {}

  /// Untried configs: neighbours of the best ones and random ones.
  std::vector<Start> candidates() {
    std::vector<Start> starts;
    for (std::size_t i = 0; i < kCandidates; ++i) {
      const std::size_t elite = training_[rng().below(std::min<std::size_t>(5, training_.size()))];
      const auto near = i % 3 == 0 ? std::nullopt : draw_around(elite, 1 + rng().below(2), 3);
      const std::size_t index = near ? *near : draw_untried();
      Point point = to_unit(index);
      const double promise = this->promise(point);
      starts.push_back({std::move(point), promise, index});
    }
    return starts;
  }

  double promise(const Point& point) const {
    const Surrogate::Prediction prediction = surrogate_.predict(point);
    return prediction.mean - kOptimism * prediction.deviation;
  }

  Point descend(Point point) const {
    double value = surrogate_.mean(point);
    double length = 0.1;
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<double> slope = surrogate_.gradient(point);
      double norm = 0;
      for (const double component : slope) norm += component * component;
      norm = std::sqrt(norm);
      if (norm < 1e-12) break;
      Point next = point;
      for (std::size_t d = 0; d < next.size(); ++d) {
        next[d] = std::clamp(next[d] - length * slope[d] / norm, 0.0, 1.0);
      }
      const double next_value = surrogate_.mean(next);
      if (next_value < value) {
        point = std::move(next);
        value = next_value;
        length *= 1.3;
      } else {
        length *= 0.5;
      }
    }
    return point;
  }

  void fit() {
    choose_training();
    std::vector<double> points;
    std::vector<double> values;
    double worst = -kFailed;
    double lowest = kFailed;
    for (const std::size_t index : training_) {
      const double objective = *known(index);
      lowest = std::min(lowest, objective);
      if (objective != kFailed) worst = std::max(worst, objective);
    }
    // Ratios matter more than differences, where the objective has ratios; others only need a size that their
    // squares survive.
    const double size = std::max(std::abs(lowest), std::abs(worst));
    for (const std::size_t index : training_) {
      const Point point = to_unit(index);
      points.insert(points.end(), point.begin(), point.end());
      const double objective = std::min(*known(index), worst);
      values.push_back(lowest > 0 ? std::log(objective) : size > 0 ? objective / size : 0);
    }
    const bool choose_scale = measured().size() >= next_scale_;
    if (choose_scale) next_scale_ = measured().size() + kScaleEvery;
    surrogate_.fit(points, values,
                   choose_scale ? Surrogate::LengthScale::kChoose : Surrogate::LengthScale::kKeep);
  }

  /// The best half and the latest ones, best first.
  void choose_training() {
    training_ = measured();
    const auto better = [this](std::size_t a, std::size_t b) { return *known(a) < *known(b); };
    if (training_.size() > kMostPoints) {
      std::vector<std::size_t> latest(training_.end() - kMostPoints / 4, training_.end());
      training_.resize(training_.size() - kMostPoints / 4);
      std::partial_sort(training_.begin(), training_.begin() + 3 * kMostPoints / 4, training_.end(), better);
      training_.resize(3 * kMostPoints / 4);
      training_.insert(training_.end(), latest.begin(), latest.end());
    }
    std::stable_sort(training_.begin(), training_.end(), better);
  }

  double last_position(std::size_t dimension) const {
    return static_cast<double>(space().tunables()[dimension].values.size() - 1);
  }

  Point to_unit(std::size_t index) const {
    const auto positions = space().coordinates(index);
    Point point(positions.begin(), positions.end());
    for (std::size_t d = 0; d < point.size(); ++d) point[d] /= std::max(1.0, last_position(d));
    return point;
  }

  Point to_positions(Point point) const {
    for (std::size_t d = 0; d < point.size(); ++d) point[d] *= last_position(d);
    return point;
  }

  Surrogate surrogate_;
  std::vector<std::size_t> training_;
  std::size_t next_scale_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_gradient(const kernel::Space& space, StrategyOptions options) {
  return std::make_unique<Gradient>(space, std::move(options));
}

}  // namespace ak::search
