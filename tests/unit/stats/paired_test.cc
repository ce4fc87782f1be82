#include "autokernel/stats/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace ak::stats {
namespace {

/// What a machine does to times that are truly equal.
struct Noise {
  std::string name = "";
  double spread = 0.01;  ///< of independent log-normal noise
  double trend = 0;      ///< linear change over the whole run
  double wander = 0;     ///< of a random walk, per round
  double outliers = 0;   ///< probability of a round that takes up to twice as long
  double step = 0;       ///< one jump of the clock at a random time
  std::size_t rounds = 20;
  std::size_t problems = 1;
};

std::ostream& operator<<(std::ostream& out, const Noise& noise) { return out << noise.name; }

PairedSamples simulate(const Noise& noise, double speedup, Rng& rng) {
  PairedSamples samples;
  const std::size_t total = 2 * noise.rounds;
  const auto jump = static_cast<std::size_t>(rng.below(total));
  double walk = 0;
  std::vector<double> level;
  for (std::size_t i = 0; i < total; ++i) {
    walk += noise.wander * rng.normal();
    const double trend = noise.trend * static_cast<double>(i) / static_cast<double>(total);
    double log_time = walk + trend + noise.spread * rng.normal() + (i >= jump ? noise.step : 0);
    if (rng.uniform() < noise.outliers) log_time += std::log(1 + rng.uniform());
    level.push_back(100 * std::exp(log_time));
  }
  for (std::size_t i = 0; i < noise.rounds; ++i) {
    const bool incumbent_first = i % 2 == 0;
    samples.incumbent.push_back(level[2 * i + (incumbent_first ? 0 : 1)]);
    samples.candidate.push_back(level[2 * i + (incumbent_first ? 1 : 0)] / speedup);
  }
  return samples;
}

int count_yes(const Noise& noise, double speedup, int runs) {
  Rng machine(11), rng(12);
  int yes = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<PairedSamples> problems;
    for (std::size_t p = 0; p < noise.problems; ++p) {
      problems.push_back(simulate(noise, speedup, machine));
      problems.back().calls = 1 + static_cast<double>(p);
    }
    yes += is_faster(objective_ratio(problems, {.resamples = 200}, rng).value(), 0.01) == Answer::kYes;
  }
  return yes;
}

class EqualKernels : public testing::TestWithParam<Noise> {};

TEST_P(EqualKernels, AreFalselyCalledFasterInAtMostOnePercentOfRuns) {
  constexpr int kRuns = 2000;
  EXPECT_LE(count_yes(GetParam(), 1.0, kRuns), kRuns / 100);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, EqualKernels,
    testing::Values(Noise{.name = "quiet", .spread = 0.003}, Noise{.name = "usual", .spread = 0.01},
                    Noise{.name = "noisy", .spread = 0.03},
                    Noise{.name = "few_noisy_rounds", .spread = 0.02, .rounds = 5},
                    Noise{.name = "eleven_rounds", .spread = 0.02, .rounds = 11},
                    Noise{.name = "warming_up", .spread = 0.005, .trend = 0.3},
                    Noise{.name = "few_rounds_warming_up", .spread = 0.005, .trend = 0.3, .rounds = 5},
                    Noise{.name = "wandering", .spread = 0.005, .wander = 0.01},
                    Noise{.name = "throttling", .spread = 0.01, .step = 0.15},
                    Noise{.name = "outliers", .spread = 0.01, .outliers = 0.15},
                    Noise{.name = "all_at_once",
                          .spread = 0.015,
                          .trend = 0.1,
                          .wander = 0.005,
                          .outliers = 0.1,
                          .step = -0.1},
                    Noise{.name = "three_problems",
                          .spread = 0.015,
                          .trend = 0.1,
                          .outliers = 0.1,
                          .rounds = 10,
                          .problems = 3}),
    [](const testing::TestParamInfo<Noise>& machine) { return machine.param.name; });

TEST(FasterKernels, AreFoundUnderUsualNoise) {
  EXPECT_GE(count_yes({.spread = 0.01, .trend = 0.1, .outliers = 0.05}, 1.05, 200), 195);
}

TEST(PairedRatio, IsExactForIdenticalTimes) {
  Rng rng(1);
  const RatioCI ratio =
      paired_ratio(std::vector<double>(5, 20.0), std::vector<double>(5, 10.0), {}, rng).value();
  EXPECT_NEAR(ratio.ratio, 2, 1e-12);
  EXPECT_NEAR(ratio.ci_low, 2, 1e-12);
  EXPECT_NEAR(ratio.ci_high, 2, 1e-12);
}

TEST(PairedRatio, CancelsALinearDrift) {
  Rng rng(1);
  const PairedSamples equal = simulate({.spread = 0, .trend = 0.5}, 1.0, rng);
  const RatioCI ratio = paired_ratio(equal.incumbent, equal.candidate, {}, rng).value();
  EXPECT_NEAR(ratio.ratio, 1, 1e-9);
  EXPECT_NEAR(ratio.ci_low, 1, 1e-9);
}

TEST(PairedRatio, FiveScatteredRoundsGiveAnIntervalWiderThanTheirRange) {
  Rng rng(1);
  const std::vector incumbent{10.0, 11.0, 12.0, 13.0, 14.0};
  const RatioCI ratio = paired_ratio(incumbent, std::vector<double>(5, 10.0), {}, rng).value();
  EXPECT_NEAR(ratio.ratio, 1.2, 0.01);
  EXPECT_LT(ratio.ci_low, 1.0);
  EXPECT_GT(ratio.ci_high, 1.4);
}

TEST(PairedRatio, RoundsWithoutAPartnerAreAnError) {
  Rng rng(1);
  EXPECT_FALSE(paired_ratio(std::vector<double>(6, 1.0), std::vector<double>(5, 1.0), {}, rng));
}

TEST(PairedRatio, RejectsNotANumber) {
  Rng rng(1);
  std::vector<double> bad(5, 1.0);
  bad[2] = std::nan("");
  EXPECT_FALSE(paired_ratio(std::vector<double>(5, 1.0), bad, {}, rng));
  EXPECT_FALSE(paired_ratio(bad, std::vector<double>(5, 1.0), {}, rng));
}

TEST(ObjectiveRatio, WeighsProblemsByCallsTimesTime) {
  Rng rng(1);
  const std::vector<double> hundred(6, 100.0), fifty(6, 50.0), ten(6, 10.0);
  // (1 x 100 + 30 x 10) / (1 x 50 + 30 x 10)
  const std::vector<PairedSamples> problems{{1, hundred, fifty}, {30, ten, ten}};
  EXPECT_NEAR(objective_ratio(problems, {}, rng)->ratio, 400.0 / 350.0, 1e-12);
}

TEST(ObjectiveRatio, AGainOnOneProblemDoesNotHideALossOnAHeavierOne) {
  Rng rng(1);
  const std::vector<double> hundred(6, 100.0), fifty(6, 50.0), two_hundred(6, 200.0);
  const std::vector<PairedSamples> problems{{1, hundred, fifty}, {2, hundred, two_hundred}};
  EXPECT_EQ(is_faster(objective_ratio(problems, {}, rng).value(), 0.01), Answer::kNo);
}

TEST(ObjectiveRatio, NeedsAProblemThatIsCalled) {
  Rng rng(1);
  EXPECT_FALSE(objective_ratio({}, {}, rng));
  const std::vector<double> times(6, 1.0);
  EXPECT_FALSE(objective_ratio(std::vector<PairedSamples>{{0, times, times}}, {}, rng));
  EXPECT_FALSE(objective_ratio(std::vector<PairedSamples>{{-1, times, times}}, {}, rng));
  EXPECT_FALSE(objective_ratio(std::vector<PairedSamples>{{std::nan(""), times, times}}, {}, rng));
}

TEST(ObjectiveRatio, TheSameSeedGivesTheSameInterval) {
  Rng machine(3);
  const std::vector<PairedSamples> problems{simulate({}, 1.02, machine)};
  Rng first(5), second(5);
  EXPECT_EQ(objective_ratio(problems, {}, first)->ci_low, objective_ratio(problems, {}, second)->ci_low);
}

TEST(KeepRule, AnIntervalWhoseUpperEndIsMoreThanTwiceItsLowerDecidesNothing) {
  EXPECT_EQ(is_faster({3, 1.5, 3.1}, 0.01), Answer::kAmbiguous);
  EXPECT_EQ(is_faster({2.5, 1.6, 3.1}, 0.01), Answer::kYes);
  EXPECT_EQ(is_faster({0.5, 0.2, 0.9}, 0.01), Answer::kNo);  // slower all the same
  EXPECT_TRUE(too_wide({3, 1.5, 3.1}));
}

TEST(KeepRule, KeepsOnlyWhenTheWholeIntervalIsAboveTheThreshold) {
  EXPECT_EQ(is_faster({1.05, 1.02, 1.08}, 0.01), Answer::kYes);
  EXPECT_EQ(is_faster({1.05, 1.01, 1.08}, 0.01), Answer::kAmbiguous);
  EXPECT_EQ(is_faster({1.00, 0.98, 1.02}, 0.01), Answer::kAmbiguous);
  EXPECT_EQ(is_faster({1.00, 0.99, 1.005}, 0.01), Answer::kNo);
  EXPECT_EQ(is_faster({1, 1, 1}, 0), Answer::kNo);
}

}  // namespace
}  // namespace ak::stats
