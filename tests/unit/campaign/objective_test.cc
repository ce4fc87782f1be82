#include "autokernel/campaign/objective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ak::campaign {
namespace {

Target target() {
  Target out{.id = "t", .op = "op", .problems = {}};
  out.problems = {{.id = "a", .problem = {}, .calls = 2},
                  {.id = "b", .problem = {}, .calls = 10},
                  {.id = "s", .problem = {}, .calls = 99, .role = Role::kSweep}};
  return out;
}

Objective objective() { return {target(), {{"a", {100, 90, 120}}, {"b", {10, 9, 11}}}}; }

Trial trial(const std::string& problem, double us, std::optional<double> ratio = {}) {
  Trial out;
  out.problem_id = problem;
  out.passed = true;
  out.time = TimeEstimate{us, us, us};
  if (ratio) out.versus = Comparison{*ratio, *ratio, *ratio, {}};
  return out;
}

Trial failed() {
  Trial out;
  out.problem_id = "a";
  out.failure = Failure{Stage::kSmoke, FailureKind::kWrong, "numeric", "m"};
  return out;
}

TEST(Objective, TheStartIsTheSumOfCallsTimesTime) {
  EXPECT_EQ(objective().start_us(), 2 * 100 + 10 * 10);
  EXPECT_EQ(objective().start().ci_low_us, 2 * 90 + 10 * 9);
  EXPECT_EQ(objective().start().ci_high_us, 2 * 120 + 10 * 11);
}

TEST(Objective, ATrialTimedAgainstTheStartCountsByItsRatio) {
  EXPECT_EQ(objective().time_us(trial("a", 77, 2.0)), 50);
}

TEST(Objective, ATrialTimedAloneCountsByItsOwnMedian) { EXPECT_EQ(objective().time_us(trial("a", 77)), 77); }

TEST(Objective, ARatioThatMakesNoSenseIsNotUsed) {
  EXPECT_EQ(objective().time_us(trial("a", 77, 0.0)), 77);
  EXPECT_EQ(objective().time_us(trial("a", 77, -1.0)), 77);
}

TEST(Objective, TwiceAsFastEverywhereHalvesIt) {
  const Trial trials[] = {trial("a", 1, 2.0), trial("b", 1, 2.0)};
  EXPECT_EQ(objective().of(trials), objective().start_us() / 2);
}

TEST(Objective, AProblemThatTheConfigCannotRunCostsWhatTheStartCosts) {
  const Trial trials[] = {trial("b", 1, 2.0)};
  EXPECT_EQ(objective().of(trials), 2 * 100 + 10 * 5);
}

TEST(Objective, SweepProblemsDoNotWeigh) {
  const Trial trials[] = {trial("a", 1, 1.0), trial("b", 1, 1.0), trial("s", 1e9)};
  EXPECT_EQ(objective().of(trials), objective().start_us());
}

TEST(Objective, AFailureIsInfinitelySlow) {
  const Trial trials[] = {trial("b", 1, 2.0), failed()};
  EXPECT_TRUE(std::isinf(objective().of(trials)));
}

TEST(Objective, OfNoTrialsIsInfinite) { EXPECT_TRUE(std::isinf(objective().of({}))); }

TEST(Objective, AProblemNeverTimedMakesItInfinite) {
  const Objective partial(target(), {{"b", {10, 9, 11}}});
  const Trial trials[] = {trial("b", 1, 2.0)};
  EXPECT_TRUE(std::isinf(partial.of(trials)));
}

Verdict timed_verdict() {
  Verdict verdict;
  verdict.passed = true;
  verdict.wall_s = 3;
  for (const char* id : {"a", "b"}) {
    Timing timing;
    timing.problem_id = id;
    timing.time = {50, 40, 60};
    timing.rounds_us = {50, 50, 50, 50, 50, 50};
    timing.incumbent_rounds_us = {100, 100, 100, 100, 100, 100};
    timing.versus = Comparison{2, 2, 2, {100, 99, 101}};
    verdict.timings.push_back(timing);
  }
  return verdict;
}

TEST(Trials, AVerdictGivesARowForEachTimedProblem) {
  const Config config{{{"X", std::int64_t{1}}}};
  const std::vector<Trial> trials = trials_of_verdict(timed_verdict(), config, 7, target());
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].problem_id, "a");
  EXPECT_EQ(trials[1].problem_id, "b");
  for (const Trial& each : trials) {
    EXPECT_TRUE(each.passed);
    EXPECT_EQ(each.experiment, 7);
    EXPECT_EQ(each.config, config);
    EXPECT_EQ(each.time->median_us, 50);
    EXPECT_EQ(each.wall_s, 1.5);  // the cost of the verdict is counted once
  }
}

TEST(Trials, AFailedVerdictGivesOneRowWithTheFailure) {
  Verdict verdict;
  verdict.failure = failed().failure;
  const std::vector<Trial> trials = trials_of_verdict(verdict, {}, 7, target());
  ASSERT_EQ(trials.size(), 1u);
  EXPECT_FALSE(trials[0].passed);
  EXPECT_FALSE(trials[0].time);
  EXPECT_EQ(trials[0].failure->kind, FailureKind::kWrong);
  EXPECT_EQ(trials[0].problem_id, "a");
}

TEST(VerdictRatio, IsTheIncumbentOverTheCandidateOverAllProblems) {
  Rng rng(1);
  auto ratio = ratio_of_verdict(timed_verdict(), target(), rng);
  ASSERT_TRUE(ratio) << ratio.error().message;
  EXPECT_NEAR(ratio->ratio, 2, 1e-9);
}

TEST(VerdictRatio, WeighsProblemsByTheirCalls) {
  Verdict verdict = timed_verdict();
  verdict.timings[1].rounds_us = {100, 100, 100, 100,
                                  100, 100};  // b is no faster: 2 x 100 + 10 x 100 in, 2 x 50 + 10 x 100 out
  Rng rng(1);
  auto ratio = ratio_of_verdict(verdict, target(), rng);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->ratio, 1200.0 / 1100, 1e-9);
}

TEST(VerdictRatio, WithoutAnIncumbentThereIsNone) {
  Verdict verdict = timed_verdict();
  for (Timing& timing : verdict.timings) timing.incumbent_rounds_us.clear();
  Rng rng(1);
  EXPECT_FALSE(ratio_of_verdict(verdict, target(), rng));
}

TEST(VerdictObjective, SumsCallsTimesTimeAndTheIntervals) {
  EXPECT_EQ(objective_of_verdict(timed_verdict(), target()).median_us, 12 * 50);
  EXPECT_EQ(objective_of_verdict(timed_verdict(), target()).ci_high_us, 12 * 60);
  EXPECT_EQ(incumbent_objective(timed_verdict(), target()).median_us, 12 * 100);
}

}  // namespace
}  // namespace ak::campaign
