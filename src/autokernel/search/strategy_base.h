#pragma once
// What all strategies share: which configs are taken, first guesses, what was measured, the best so far. A
// strategy only says which untried config comes next (`choose`) and what it makes of an answer (`learn`).

#include <optional>
#include <string_view>
#include <vector>

#include "autokernel/base/random.h"
#include "autokernel/search/strategy.h"
#include "autokernel/search/untried_set.h"

namespace ak::search {

using Coordinates = std::vector<std::uint16_t>;

class StrategyBase : public Strategy {
 public:
  std::string_view name() const final { return name_; }
  std::optional<std::size_t> propose() final;
  /// NaN and infinities count as kFailed. A config that is told again replaces what was known of it.
  void observe(std::size_t index, double objective) final;

 protected:
  /// Proposes the first `guesses` of options.first_guesses before it asks `choose`.
  StrategyBase(std::string_view name, const kernel::Space& space, StrategyOptions options,
               std::size_t guesses);

  /// An untried config; only called while there is one.
  virtual std::size_t choose() = 0;
  virtual void learn(std::size_t index, double objective) = 0;

  const kernel::Space& space() const { return *space_; }
  const StrategyOptions& options() const { return options_; }
  const UntriedSet& untried() const { return untried_; }
  Rng& rng() { return rng_; }

  /// The answer for a config; nullopt while it is untried or pending.
  std::optional<double> known(std::size_t index) const;
  /// Configs with an answer, in the order of the first ones; failures included.
  const std::vector<std::size_t>& measured() const { return measured_; }
  /// Proposed configs without an answer, oldest first.
  const std::vector<std::size_t>& pending() const { return pending_; }
  /// The measured config with the lowest objective; nullopt while all failed.
  std::optional<std::size_t> best() const { return best_; }

  std::size_t draw_untried() { return untried_.draw(rng_); }
  Coordinates coordinates(std::size_t index) const;
  /// The point itself where it is valid and untried, else the nearest such point (O(n)),
  /// ties broken at random.
  std::size_t nearest_untried(std::vector<double> point);
  /// Gives `changes` different tunables a random other value; tunables with one value stay.
  void mutate(Coordinates& point, std::size_t changes);
  /// An untried config at `changes` tunables from `index`, found within `attempts` draws.
  std::optional<std::size_t> draw_around(std::size_t index, std::size_t changes, int attempts);
  /// How many tunables have more than one value.
  std::size_t free_dimensions() const { return free_.size(); }

 private:
  std::optional<std::size_t> next_guess();

  std::string_view name_;
  const kernel::Space* space_;
  StrategyOptions options_;
  std::size_t guesses_;
  std::size_t next_guess_ = 0;
  UntriedSet untried_;
  Rng rng_;
  std::vector<double> objectives_;  // NaN: no answer
  std::vector<std::size_t> measured_;
  std::vector<std::size_t> pending_;
  std::optional<std::size_t> best_;
  std::vector<std::size_t> free_;  // tunables with more than one value
};

/// How many heads of the heuristic order strategies look at before they go their own way.
inline constexpr std::size_t kUsualGuesses = 8;

/// (to - from) relative to the larger of the two sizes, in [-2, 2]: objectives may have any unit and sign. A
/// failure is worse than anything by infinity.
double relative_change(double from, double to);

}  // namespace ak::search
