// Simulated annealing: a walk over one-tunable changes that takes a step upwards with probability exp(-rise /
// T), T falling over the budget. Steps to configs that were measured before are free.

#include <algorithm>
#include <cmath>

#include "autokernel/search/strategies.h"
#include "autokernel/search/strategy_base.h"

namespace ak::search {
namespace {

constexpr std::size_t kSeeds = 10;
/// Relative rises that are taken with probability 1/e at the beginning and at the end.
constexpr double kHot = 0.3;
constexpr double kCold = 0.005;
constexpr std::size_t kUsualBudget = 200;
constexpr int kFreeSteps = 100;

class Annealing final : public StrategyBase {
 public:
  Annealing(const kernel::Space& space, StrategyOptions options)
      : StrategyBase("annealing", space, std::move(options), kUsualGuesses) {}

 private:
  std::size_t choose() override {
    if (measured().size() + pending().size() < kSeeds || !best()) return draw_untried();
    if (!current_) current_ = best();
    for (int step = 0; step < kFreeSteps; ++step) {
      Coordinates point = coordinates(*current_);
      mutate(point, rng().uniform() < 0.8 ? 1 : 2);
      const auto next = space().index_at(point);
      if (!next) continue;
      if (untried().contains(*next)) return *next;
      const auto objective = known(*next);
      if (objective && accepts(*objective)) current_ = next;
    }
    // Everything around is measured: the walk is stuck or frozen.
    const auto near = draw_around(*best(), 3, kFreeSteps);
    return near ? *near : draw_untried();
  }

  void learn(std::size_t index, double objective) override {
    if (current_ && accepts(objective)) current_ = index;
  }

  bool accepts(double objective) {
    const double rise = relative_change(*known(*current_), objective);
    return rise <= 0 || rng().uniform() < std::exp(-rise / temperature());
  }

  double temperature() const {
    const std::size_t budget =
        std::min(options().budget > 0 ? options().budget : kUsualBudget, space().size());
    const double spent = static_cast<double>(measured().size()) / static_cast<double>(budget);
    return kHot * std::pow(kCold / kHot, std::min(spent, 1.0));
  }

  std::optional<std::size_t> current_;
};

}  // namespace

std::unique_ptr<Strategy> make_annealing(const kernel::Space& space, StrategyOptions options) {
  return std::make_unique<Annealing>(space, std::move(options));
}

}  // namespace ak::search
