#include "autokernel/stats/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "autokernel/base/random.h"

namespace ak::stats {
namespace {

using testing::HasSubstr;

TEST(Summary, MedianOfAnOddCountIsTheMiddleValue) { EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0}), 5.0); }

TEST(Summary, MedianOfAnEvenCountIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median(std::vector{4.0, 1.0, 100.0, 2.0}), 3.0);
}

TEST(Summary, QuantilesInterpolateBetweenOrderStatistics) {
  const std::vector values{30.0, 10.0, 20.0, 40.0, 50.0};
  EXPECT_EQ(quantile(values, 0), 10);
  EXPECT_EQ(quantile(values, 0.25), 20);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 46);
  EXPECT_EQ(quantile(values, 1), 50);
  EXPECT_EQ(quantile(std::vector{7.0}, 0.3), 7);
}

TEST(Summary, TimesMustBeFiniteAndPositive) {
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Status status = check_times(std::vector{1.0, 1.0, 1.0, bad, 1.0}, "candidate");
    ASSERT_FALSE(status) << bad;
    EXPECT_THAT(status.error().message, HasSubstr("candidate: round 3"));
  }
}

TEST(Summary, FewerThanFiveRoundsAreAnError) {
  const Status status = check_times(std::vector{1.0, 1.0, 1.0, 1.0}, "candidate");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("4 rounds"));
}

TEST(Summary, QuantilesOfTheNormalAndStudentDistributionsMatchTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-5);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 3), 3.182, 0.03);
  EXPECT_NEAR(student_quantile(0.975, 10), 2.228, 0.002);
  EXPECT_NEAR(student_quantile(0.95, 30), 1.697, 0.001);
}

TEST(NoiseFloor, IsZeroForIdenticalRounds) { EXPECT_EQ(noise_floor(std::vector<double>(8, 3.5)).value(), 0); }

TEST(NoiseFloor, IgnoresASlowDrift) {
  Rng rng(1);
  std::vector<double> steady, drifting;
  for (int i = 0; i < 200; ++i) {
    const double noise = std::exp(0.01 * rng.normal());
    steady.push_back(100 * noise);
    drifting.push_back((100 + i) * noise);
  }
  const double expected = noise_floor(steady).value();
  EXPECT_NEAR(noise_floor(drifting).value(), expected, 0.3 * expected);
}

TEST(NoiseFloor, ShrinksWithTheSquareRootOfTheRounds) {
  Rng rng(2);
  std::vector<double> rounds;
  for (int i = 0; i < 4000; ++i) rounds.push_back(std::exp(0.02 * rng.normal()));
  const double many = noise_floor(rounds).value();
  const double few = noise_floor(std::span(rounds).first(1000)).value();
  EXPECT_NEAR(few / many, 2, 0.25);
}

TEST(NoiseFloor, RejectsATimeOfZero) { EXPECT_FALSE(noise_floor(std::vector{1.0, 1.0, 0.0, 1.0, 1.0})); }

}  // namespace
}  // namespace ak::stats
