#pragma once
// Strategies propose the next configs of a space. One small interface, seeded and reproducible; a strategy
// never proposes an invalid or an already proposed config.
//
//   AK_TRY(strategy, search::create("annealing", space, {.seed = 1}));
//   while (auto index = strategy->propose()) strategy->observe(*index, measure(*index));

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/kernel/space.h"

namespace ak::search {

inline constexpr double kFailed = std::numeric_limits<double>::infinity();

struct StrategyOptions {
  std::uint64_t seed = 1;
  /// Order for the first guesses (Space::heuristic_order); may be empty. Strategies start from its head.
  std::vector<std::size_t> first_guesses;
  /// Evaluations that will be allowed in all; lets annealing set its temperature. 0: unknown.
  std::size_t budget = 0;
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  /// The next config to measure; nullopt when the space is exhausted. May be called several times before the
  /// answers are observed (compiles run ahead); then it proposes without them.
  virtual std::optional<std::size_t> propose() = 0;
  /// The objective of a proposed (or recorded) config, lower is better, kFailed for failures. Configs
  /// measured earlier (a resumed run) are told first, in the order of the ledger.
  virtual void observe(std::size_t index, double objective) = 0;
};

/// exhaustive, random, local, annealing, genetic, differential-evolution, gradient.
std::span<const std::string_view> strategy_names();
/// A usage error that lists the names, if there is no such strategy: before anything is written for it.
Status check_strategy(std::string_view name);
/// The space must outlive the strategy. An unknown name is an error that lists them.
Result<std::unique_ptr<Strategy>> create(std::string_view name, const kernel::Space& space,
                                         StrategyOptions options);

}  // namespace ak::search
