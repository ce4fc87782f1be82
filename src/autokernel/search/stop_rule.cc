#include "autokernel/search/stop_rule.h"

#include <fmt/core.h>

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

}  // namespace ak::search
