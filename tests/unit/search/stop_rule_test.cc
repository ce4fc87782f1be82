#include "autokernel/search/stop_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "autokernel/search/strategy.h"

namespace ak::search {
namespace {

using testing::HasSubstr;

Progress after(std::initializer_list<double> objectives) {
  Progress progress;
  for (const double objective : objectives) progress.add(objective);
  return progress;
}

TEST(Progress, CountsTrialsSinceTheLastImprovement) {
  const Progress progress = after({5, 3, kFailed, 3, 4});
  EXPECT_EQ(progress.trials, 5u);
  EXPECT_EQ(progress.best, 3);
  EXPECT_EQ(progress.since_improvement, 3u);
}

TEST(StopRule, TrialsStopAtTheirNumber) {
  const auto rule = stop_after_trials(2);
  EXPECT_FALSE(rule->reached(after({1})));
  EXPECT_THAT(rule->reached(after({1, kFailed})).value(), HasSubstr("2 trials"));
}

TEST(StopRule, SecondsStopAtTheirTime) {
  const auto rule = stop_after_seconds(10);
  Progress progress;
  progress.elapsed_s = 9.9;
  EXPECT_FALSE(rule->reached(progress));
  progress.elapsed_s = 10;
  EXPECT_TRUE(rule->reached(progress));
}

TEST(StopRule, PatienceStopsOnlyOnceSomethingWorked) {
  const auto rule = stop_without_improvement(2);
  EXPECT_FALSE(rule->reached(after({kFailed, kFailed, kFailed})));
  EXPECT_FALSE(rule->reached(after({kFailed, 5, 6})));
  EXPECT_TRUE(rule->reached(after({kFailed, 5, 6, kFailed})));
}

TEST(StopRule, TheFloorStopsWithinItsFraction) {
  const auto rule = stop_near_floor(9, 0.9);
  EXPECT_FALSE(rule->reached(after({})));
  EXPECT_FALSE(rule->reached(after({11})));
  EXPECT_THAT(rule->reached(after({11, 10})).value(), HasSubstr("90 % of the floor"));
}

TEST(StopRule, TheFirstOfSeveralRulesGivesTheReason) {
  std::vector<std::unique_ptr<StopRule>> rules;
  rules.push_back(stop_after_trials(100));
  rules.push_back(stop_without_improvement(1));
  EXPECT_FALSE(first_reached(rules, after({1})));
  EXPECT_THAT(first_reached(rules, after({1, 2})).value(), HasSubstr("improvement"));
  EXPECT_FALSE(first_reached({}, after({1})));
}

}  // namespace
}  // namespace ak::search
