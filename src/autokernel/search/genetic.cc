// A steady-state genetic algorithm: each answer may replace the worst of the population, so that nothing
// waits for a generation to be complete.

#include <algorithm>

#include "autokernel/search/strategies.h"
#include "autokernel/search/strategy_base.h"

namespace ak::search {
namespace {

constexpr std::size_t kPopulation = 20;
constexpr std::size_t kTournament = 3;
constexpr int kAttempts = 30;

class Genetic final : public StrategyBase {
 public:
  Genetic(const kernel::Space& space, StrategyOptions options)
      : StrategyBase("genetic", space, std::move(options), kUsualGuesses) {}

 private:
  std::size_t choose() override {
    if (measured().size() + pending().size() < kPopulation || population_.size() < 2) return draw_untried();
    Coordinates child;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      child = crossover(coordinates(select()), coordinates(select()));
      // A child that exists already is mutated more and more.
      mutate(child, (rng().uniform() < 0.6 ? 1 : 0) + static_cast<std::size_t>(attempt) / 8);
      const auto index = space().index_at(child);
      if (index && untried().contains(*index)) return *index;
    }
    return nearest_untried({child.begin(), child.end()});
  }

  void learn(std::size_t index, double objective) override {
    std::erase(population_, index);
    if (objective == kFailed) return;
    const auto place = std::find_if(population_.begin(), population_.end(),
                                    [&](std::size_t other) { return *known(other) > objective; });
    population_.insert(place, index);
    if (population_.size() > kPopulation) population_.pop_back();
  }

  /// The population is sorted, so that the winner of a tournament is the one with the lowest position.
  std::size_t select() {
    std::size_t winner = population_.size() - 1;
    for (std::size_t i = 0; i < kTournament; ++i) {
      winner = std::min(winner, static_cast<std::size_t>(rng().below(population_.size())));
    }
    return population_[winner];
  }

  Coordinates crossover(Coordinates first, const Coordinates& second) {
    for (std::size_t d = 0; d < first.size(); ++d) {
      if (rng().below(2) == 0) first[d] = second[d];
    }
    return first;
  }

  std::vector<std::size_t> population_;  // best first
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(const kernel::Space& space, StrategyOptions options) {
  return std::make_unique<Genetic>(space, std::move(options));
}

}  // namespace ak::search
