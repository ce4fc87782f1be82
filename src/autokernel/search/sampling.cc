// Strategies that learn nothing: exhaustive and random.

#include <limits>

#include "autokernel/search/strategies.h"
#include "autokernel/search/strategy_base.h"

namespace ak::search {
namespace {

class Exhaustive final : public StrategyBase {
 public:
  Exhaustive(const kernel::Space& space, StrategyOptions options)
      : StrategyBase("exhaustive", space, std::move(options), std::numeric_limits<std::size_t>::max()) {}

 private:
  std::size_t choose() override {
    while (!untried().contains(next_)) ++next_;
    return next_;
  }
  void learn(std::size_t, double) override {}

  std::size_t next_ = 0;
};

class Random final : public StrategyBase {
 public:
  Random(const kernel::Space& space, StrategyOptions options)
      : StrategyBase("random", space, std::move(options), 1) {}

 private:
  std::size_t choose() override { return draw_untried(); }
  void learn(std::size_t, double) override {}
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(const kernel::Space& space, StrategyOptions options) {
  return std::make_unique<Exhaustive>(space, std::move(options));
}

std::unique_ptr<Strategy> make_random(const kernel::Space& space, StrategyOptions options) {
  return std::make_unique<Random>(space, std::move(options));
}

}  // namespace ak::search
