// Iterated local search: climb down by changing one tunable at a time, taking the first improvement; at a
// local optimum start again a few changes away from the best config.

#include <algorithm>
#include <cstdlib>

#include "autokernel/search/strategies.h"
#include "autokernel/search/strategy_base.h"

namespace ak::search {
namespace {

/// Random configs measured before the first climb, which starts from the best of them.
constexpr std::size_t kSeeds = 20;
constexpr std::size_t kOthers = 2;  ///< values of a tunable tried beside the next and the previous one
constexpr int kAttempts = 50;
constexpr std::size_t kFewestChanges = 2;
constexpr std::size_t kMostChanges = 4;

class Local final : public StrategyBase {
 public:
  Local(const kernel::Space& space, StrategyOptions options)
      : StrategyBase("local", space, std::move(options), kUsualGuesses) {}

 private:
  std::size_t choose() override {
    if (measured().size() + pending().size() < kSeeds || !best()) return draw_untried();
    if (!current_) move_to(*best());
    while (!queue_.empty()) {
      const std::size_t index = queue_.back();
      queue_.pop_back();
      if (untried().contains(index)) return index;
    }
    return restart();
  }

  void learn(std::size_t index, double objective) override {
    if (!current_) return;
    const std::optional<double> here = known(*current_);
    if (index == *current_) {
      // The restart's own answer; from a failure there is no way down.
      objective == kFailed ? queue_.clear() : move_to(index);
    } else if (index == best()) {
      changes_ = kFewestChanges;
      move_to(index);
    } else if (here && objective < *here) {
      move_to(index);
    }
  }

  /// The next and previous values first, then a few others of each tunable: one with many values would take
  /// all the time otherwise.
  void move_to(std::size_t index) {
    current_ = index;
    queue_.clear();
    std::vector<std::size_t> others(space().dimensions(), 0);
    std::vector<std::size_t> neighbours = space().neighbours(index, kernel::Space::Neighbourhood::kHamming);
    rng().shuffle(neighbours);
    for (const std::size_t neighbour : neighbours) {
      if (!untried().contains(neighbour)) continue;
      const Step step = step_between(index, neighbour);
      if (step.distance == 1) {
        queue_.push_back(neighbour);
      } else if (others[step.dimension]++ < kOthers) {
        queue_.insert(queue_.begin(), neighbour);
      }
    }
  }

  struct Step {
    std::size_t dimension = 0;
    int distance = 0;
  };
  Step step_between(std::size_t from, std::size_t to) const {
    const auto a = space().coordinates(from);
    const auto b = space().coordinates(to);
    for (std::size_t d = 0; d < a.size(); ++d) {
      if (a[d] != b[d]) return {d, std::abs(static_cast<int>(a[d]) - static_cast<int>(b[d]))};
    }
    return {};
  }

  /// Each restart that found nothing better goes one change further away.
  std::size_t restart() {
    const std::size_t changes = std::min(changes_, kMostChanges);
    changes_ = changes_ == kMostChanges ? kFewestChanges : changes_ + 1;
    const auto near = draw_around(*best(), changes, kAttempts);
    current_ = near ? *near : draw_untried();
    return *current_;
  }

  std::optional<std::size_t> current_;
  std::vector<std::size_t> queue_;
  std::size_t changes_ = kFewestChanges;
};

}  // namespace

std::unique_ptr<Strategy> make_local(const kernel::Space& space, StrategyOptions options) {
  return std::make_unique<Local>(space, std::move(options));
}

}  // namespace ak::search
