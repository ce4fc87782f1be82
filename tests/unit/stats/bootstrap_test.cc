#include "autokernel/stats/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace ak::stats {
namespace {

TEST(Bootstrap, IdenticalTimesGiveAnIntervalOfNoWidth) {
  Rng rng(1);
  const TimeEstimate time = bootstrap_ci(std::vector<double>(5, 12.5), {}, rng).value();
  EXPECT_EQ(time.median_us, 12.5);
  EXPECT_EQ(time.ci_low_us, 12.5);
  EXPECT_EQ(time.ci_high_us, 12.5);
}

TEST(Bootstrap, TheIntervalHoldsTheMedianAndLiesWithinTheSamples) {
  Rng rng(1);
  const std::vector samples{10.0, 11.0, 10.5, 30.0, 10.2, 10.7};
  const TimeEstimate time = bootstrap_ci(samples, {}, rng).value();
  EXPECT_LE(time.ci_low_us, time.median_us);
  EXPECT_GE(time.ci_high_us, time.median_us);
  EXPECT_GE(time.ci_low_us, 10.0);
  EXPECT_LE(time.ci_high_us, 30.0);
}

TEST(Bootstrap, TheSameSeedGivesTheSameInterval) {
  const std::vector samples{10.0, 11.0, 10.5, 30.0, 10.2, 10.7};
  Rng first(7), second(7);
  EXPECT_EQ(bootstrap_ci(samples, {}, first)->ci_low_us, bootstrap_ci(samples, {}, second)->ci_low_us);
}

TEST(Bootstrap, CoversTheTrueMedianAboutAsOftenAsItsLevelSays) {
  Rng noise(3), rng(4);
  int covered = 0;
  constexpr int kRuns = 500;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> samples;
    for (int i = 0; i < 25; ++i) samples.push_back(100 * std::exp(0.05 * noise.normal()));
    const TimeEstimate time = bootstrap_ci(samples, {.resamples = 300}, rng).value();
    covered += time.ci_low_us <= 100 && 100 <= time.ci_high_us;
  }
  EXPECT_GT(covered, 0.90 * kRuns);
  EXPECT_LT(covered, 0.99 * kRuns);
}

TEST(Bootstrap, RejectsTimesThatAreNone) {
  Rng rng(1);
  EXPECT_FALSE(bootstrap_ci(std::vector{1.0, 1.0, 1.0, 1.0, std::nan("")}, {}, rng));
  EXPECT_FALSE(bootstrap_ci(std::vector{1.0, 1.0, 1.0, 1.0, -1.0}, {}, rng));
  EXPECT_FALSE(bootstrap_ci(std::vector<double>{}, {}, rng));
}

}  // namespace
}  // namespace ak::stats
