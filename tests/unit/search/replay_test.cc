// Strategies against recorded spaces of real kernels (tests/data/spaces).

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "autokernel/search/recorded_space.h"
#include "autokernel/stats/summary.h"

namespace ak::search {
namespace {

constexpr std::size_t kEvaluations = 200;
constexpr std::uint64_t kSeeds = 20;

RecordedSpace load(const std::string& name) {
  return RecordedSpace::load(std::string(AK_SOURCE_DIR) + "/tests/data/spaces/" + name + ".csv").value();
}

/// Median over the seeds of optimum / best found.
double median_fraction(const RecordedSpace& recorded, std::string_view name, std::size_t evaluations) {
  std::vector<double> fractions;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto strategy = create(name, recorded.space(), {seed, {}, kEvaluations}).value().release();
    const std::unique_ptr<Strategy> owner(strategy);
    fractions.push_back(replay(recorded, *strategy, evaluations).fraction_of_optimum(recorded, evaluations));
  }
  return stats::median(fractions);
}

/// The strategies that learn.
class LearningStrategy : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Names, LearningStrategy,
                         testing::Values("local", "annealing", "genetic", "differential-evolution",
                                         "gradient"),
                         [](const auto& strategy) {
                           std::string name(strategy.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(LearningStrategy, BeatsRandomSearchOnTheConvolution) {
  const RecordedSpace recorded = load("convolution_a100");
  EXPECT_GE(median_fraction(recorded, GetParam(), 100), 1.05 * median_fraction(recorded, "random", 100));
  EXPECT_GE(median_fraction(recorded, GetParam(), 200), 1.10 * median_fraction(recorded, "random", 200));
}

TEST_P(LearningStrategy, BeatsRandomSearchOnPointInPolygon) {
  const RecordedSpace recorded = load("pnpoly_rtx3090");
  EXPECT_GE(median_fraction(recorded, GetParam(), 200), 0.004 + median_fraction(recorded, "random", 200));
}

TEST_P(LearningStrategy, FindsTheOptimumOfTheSmallCoulombSpaceAsRandomSearchDoes) {
  const RecordedSpace recorded = load("coulomb_2080ti");
  EXPECT_GE(median_fraction(recorded, GetParam(), 100), 0.99);
}

TEST_P(LearningStrategy, StaysAheadOfRandomSearchWithFourProposalsInFlight) {
  const RecordedSpace recorded = load("convolution_a100");
  std::vector<double> fractions;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto strategy = std::move(create(GetParam(), recorded.space(), {seed, {}, kEvaluations}).value());
    fractions.push_back(
        replay(recorded, *strategy, kEvaluations, 4).fraction_of_optimum(recorded, kEvaluations));
  }
  EXPECT_GE(stats::median(fractions), 1.05 * median_fraction(recorded, "random", kEvaluations));
}

TEST_P(LearningStrategy, NeverRepeatsAndIsReproducibleOnARealSpace) {
  const RecordedSpace recorded = load("pnpoly_rtx3090");
  const auto first = std::move(create(GetParam(), recorded.space(), {9, {}, kEvaluations}).value());
  const auto second = std::move(create(GetParam(), recorded.space(), {9, {}, kEvaluations}).value());
  const Replay one = replay(recorded, *first, kEvaluations, 3);
  EXPECT_EQ(one.proposed, replay(recorded, *second, kEvaluations, 3).proposed);
  EXPECT_EQ(std::set(one.proposed.begin(), one.proposed.end()).size(), kEvaluations);
}

TEST(Replay, OfAWholeSpaceFindsItsOptimum) {
  const RecordedSpace recorded = load("coulomb_2080ti");
  for (const std::string_view name : strategy_names()) {
    const auto strategy = std::move(create(name, recorded.space(), {}).value());
    const Replay all = replay(recorded, *strategy, 10'000, 5);
    EXPECT_EQ(all.proposed.size(), recorded.space().size()) << name;
    EXPECT_EQ(all.fraction_of_optimum(recorded, 10'000), 1) << name;
  }
}

}  // namespace
}  // namespace ak::search
