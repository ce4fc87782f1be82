#include "autokernel/search/stop_rule.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

namespace ak::search {
namespace {

class AfterTrials final : public StopRule {
 public:
  explicit AfterTrials(std::size_t trials) : trials_(trials) {}
  std::optional<std::string> reached(const Progress& progress) const override {
    if (progress.trials < trials_) return std::nullopt;
    return fmt::format("{} trials are done", trials_);
  }

 private:
  std::size_t trials_;
};

class AfterSeconds final : public StopRule {
 public:
  explicit AfterSeconds(double seconds) : seconds_(seconds) {}
  std::optional<std::string> reached(const Progress& progress) const override {
    if (progress.elapsed_s < seconds_) return std::nullopt;
    return fmt::format("{:g} s are over", seconds_);
  }

 private:
  double seconds_;
};

class WithoutImprovement final : public StopRule {
 public:
  explicit WithoutImprovement(std::size_t trials) : trials_(trials) {}
  std::optional<std::string> reached(const Progress& progress) const override {
    if (!std::isfinite(progress.best) || progress.since_improvement < trials_) return std::nullopt;
    return fmt::format("{} trials brought no improvement", trials_);
  }

 private:
  std::size_t trials_;
};

class NearFloor final : public StopRule {
 public:
  NearFloor(double floor, double fraction) : floor_(floor), fraction_(fraction) {}
  std::optional<std::string> reached(const Progress& progress) const override {
    if (!std::isfinite(progress.best) || floor_ < fraction_ * progress.best) return std::nullopt;
    return fmt::format("the best is at {:.0f} % of the floor", 100 * floor_ / progress.best);
  }

 private:
  double floor_;
  double fraction_;
};

/// Seconds in one `h`, `m` or `s`; 0 for anything else.
int seconds_in(char unit) { return unit == 'h' ? 3600 : unit == 'm' ? 60 : unit == 's' ? 1 : 0; }

}  // namespace

void Progress::add(double objective) {
  ++trials;
  ++since_improvement;
  if (objective < best) {
    best = objective;
    since_improvement = 0;
  }
}

std::unique_ptr<StopRule> stop_after_trials(std::size_t trials) {
  return std::make_unique<AfterTrials>(trials);
}

std::unique_ptr<StopRule> stop_after_seconds(double seconds) {
  AK_CHECK(seconds >= 0);
  return std::make_unique<AfterSeconds>(seconds);
}

std::unique_ptr<StopRule> stop_without_improvement(std::size_t trials) {
  AK_CHECK(trials > 0);
  return std::make_unique<WithoutImprovement>(trials);
}

std::unique_ptr<StopRule> stop_near_floor(double floor, double fraction) {
  AK_CHECK(floor > 0 && fraction > 0);
  return std::make_unique<NearFloor>(floor, fraction);
}

std::optional<std::string> first_reached(std::span<const std::unique_ptr<StopRule>> rules,
                                         const Progress& progress) {
  for (const auto& rule : rules) {
    if (auto reason = rule->reached(progress)) return reason;
  }
  return std::nullopt;
}

std::unique_ptr<StopRule> Budget::rule() const {
  AK_CHECK(trials.has_value() != seconds.has_value());
  return trials ? stop_after_trials(*trials) : stop_after_seconds(*seconds);
}

Result<Budget> parse_budget(std::string_view text) {
  const auto malformed = [text] {
    return usage_error(
        "budget '{}': expected a number of trials such as 100, or a time such as 90s, 10m or 1h30m", text);
  };
  constexpr std::uint64_t kMost = 1'000'000'000;
  Budget budget;
  std::uint64_t total_s = 0;
  int last_unit = 3601;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint64_t amount = 0;
    const auto [next, error] = std::from_chars(at, end, amount);
    if (error != std::errc() || amount > kMost) return malformed();
    if (next == end) {
      if (last_unit != 3601 || amount == 0) return malformed();
      budget.trials = static_cast<std::size_t>(amount);
      return budget;
    }
    const int unit = seconds_in(*next);
    if (unit == 0 || unit >= last_unit) return malformed();  // each unit once, the largest first
    last_unit = unit;
    total_s += amount * static_cast<std::uint64_t>(unit);
    at = next + 1;
  }
  if (total_s == 0) return malformed();
  budget.seconds = static_cast<double>(total_s);
  return budget;
}

}  // namespace ak::search
