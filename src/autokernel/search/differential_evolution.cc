// Differential evolution (current-to-best/1/bin) on the positions of values in their lists, one trial at a
// time.

#include <algorithm>
#include <map>

#include "autokernel/search/strategies.h"
#include "autokernel/search/strategy_base.h"

namespace ak::search {
namespace {

/// The best of so many random configs make the first population.
constexpr std::size_t kSeeds = 25;
constexpr std::size_t kPopulation = 8;
constexpr double kCrossover = 0.7;
/// Share of trials in which one tunable takes a random value: differences of a population in which all
/// members agree on a tunable are zero for ever, and positions of values without an order lead nowhere.
constexpr double kMutation = 0.4;

class DifferentialEvolution final : public StrategyBase {
 public:
  DifferentialEvolution(const kernel::Space& space, StrategyOptions options)
      : StrategyBase("differential-evolution", space, std::move(options), kUsualGuesses) {}

 private:
  std::size_t choose() override {
    if (measured().size() + pending().size() < kSeeds || population_.size() < 4) return draw_untried();
    target_ = (target_ + 1) % population_.size();
    const std::size_t trial = nearest_untried(trial_point());
    slot_of_[trial] = target_;
    return trial;
  }

  void learn(std::size_t index, double objective) override {
    const auto found = slot_of_.find(index);
    if (found != slot_of_.end()) {
      const std::size_t slot = found->second;
      slot_of_.erase(found);
      if (objective <= *known(population_[slot])) population_[slot] = index;
      return;
    }
    // A first guess, a random member or a recorded answer: it fills the population, or replaces its worst.
    if (objective == kFailed || std::find(population_.begin(), population_.end(), index) != population_.end())
      return;
    if (population_.size() < kPopulation) {
      population_.push_back(index);
      return;
    }
    const auto worst =
        std::max_element(population_.begin(), population_.end(),
                         [this](std::size_t a, std::size_t b) { return *known(a) < *known(b); });
    if (objective < *known(*worst)) *worst = index;
  }

  std::vector<double> trial_point() {
    const auto current = space().coordinates(population_[target_]);
    const auto best_point = space().coordinates(*best());
    const auto plus = space().coordinates(population_[rng().below(population_.size())]);
    const auto minus = space().coordinates(population_[rng().below(population_.size())]);
    const double factor = 0.4 + 0.6 * rng().uniform();  // dithered, against stagnation on a grid
    const std::size_t forced = rng().below(current.size());
    std::vector<double> point(current.begin(), current.end());
    for (std::size_t d = 0; d < point.size(); ++d) {
      if (d != forced && rng().uniform() >= kCrossover) continue;
      const double toward = static_cast<double>(best_point[d]) - point[d];
      const double difference = static_cast<double>(plus[d]) - static_cast<double>(minus[d]);
      point[d] =
          reflect(point[d] + factor * toward + factor * difference, space().tunables()[d].values.size());
    }
    if (rng().uniform() < kMutation) {
      const std::size_t d = rng().below(point.size());
      point[d] = static_cast<double>(rng().below(space().tunables()[d].values.size()));
    }
    return point;
  }

  /// Back into the list of values from beyond its ends.
  static double reflect(double position, std::size_t count) {
    const double last = static_cast<double>(count - 1);
    if (position < 0) position = -position;
    if (position > last) position = 2 * last - position;
    return std::clamp(position, 0.0, last);
  }

  std::vector<std::size_t> population_;
  std::size_t target_ = 0;
  std::map<std::size_t, std::size_t> slot_of_;  // pending trial -> the member it challenges
};

}  // namespace

std::unique_ptr<Strategy> make_differential_evolution(const kernel::Space& space, StrategyOptions options) {
  return std::make_unique<DifferentialEvolution>(space, std::move(options));
}

}  // namespace ak::search
