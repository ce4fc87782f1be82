// What every strategy must do, whatever it is.

#include "autokernel/search/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <string>

namespace ak::search {
namespace {

using Indices = std::vector<std::size_t>;

kernel::Tunable tunable(std::string name, std::int64_t count) {
  kernel::Tunable result{std::move(name), {}};
  for (std::int64_t value = 0; value < count; ++value) result.values.emplace_back(value);
  return result;
}

/// Three tunables of 4, 6 and 5 values; a third of the product is pruned.
kernel::Space holey_space() {
  std::vector<std::uint16_t> points;
  for (std::uint16_t x = 0; x < 4; ++x) {
    for (std::uint16_t y = 0; y < 6; ++y) {
      for (std::uint16_t z = 0; z < 5; ++z) {
        if ((x + y + z) % 3 != 0) points.insert(points.end(), {x, y, z});
      }
    }
  }
  return kernel::Space::from_points({tunable("X", 4), tunable("Y", 6), tunable("Z", 5)}, std::move(points));
}

kernel::Space line(std::uint16_t count) {
  std::vector<std::uint16_t> points(count);
  std::iota(points.begin(), points.end(), std::uint16_t{0});
  return kernel::Space::from_points({tunable("X", count)}, std::move(points));
}

/// A bowl with its bottom at the middle of each tunable.
double bowl(const kernel::Space& space, std::size_t index) {
  double sum = 1;
  const auto point = space.coordinates(index);
  for (std::size_t d = 0; d < point.size(); ++d) sum += std::pow(static_cast<double>(point[d]) - 2, 2);
  return sum;
}

std::unique_ptr<Strategy> make(std::string_view name, const kernel::Space& space,
                               StrategyOptions options = {}) {
  return std::move(create(name, space, std::move(options)).value());
}

/// Proposes until the end, with answers after every `ahead` proposals.
template <class Objective>
Indices run(Strategy& strategy, std::size_t ahead, Objective&& objective) {
  Indices order;
  for (;;) {
    Indices open;
    while (open.size() < ahead) {
      const auto index = strategy.propose();
      if (!index) break;
      open.push_back(*index);
    }
    if (open.empty()) return order;
    for (const std::size_t index : open) strategy.observe(index, objective(index));
    order.insert(order.end(), open.begin(), open.end());
  }
}

void expect_each_once(Indices order, std::size_t count) {
  std::ranges::sort(order);
  Indices all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_EQ(order, all);
}

class EveryStrategy : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Names, EveryStrategy, testing::ValuesIn(strategy_names()), [](const auto& strategy) {
  std::string name(strategy.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(EveryStrategy, KnowsItsName) {
  const kernel::Space space = line(3);
  EXPECT_EQ(make(GetParam(), space)->name(), GetParam());
}

TEST_P(EveryStrategy, ProposesEachConfigOnceAndThenEnds) {
  const kernel::Space space = holey_space();
  const auto strategy = make(GetParam(), space);
  expect_each_once(run(*strategy, 1, [&](std::size_t i) { return bowl(space, i); }), space.size());
  EXPECT_FALSE(strategy->propose());
}

TEST_P(EveryStrategy, ProposesEachConfigOnceWhenAnswersComeLate) {
  const kernel::Space space = holey_space();
  for (const std::size_t ahead : {std::size_t{7}, std::size_t{1000}}) {
    const auto strategy = make(GetParam(), space);
    expect_each_once(run(*strategy, ahead, [&](std::size_t i) { return bowl(space, i); }), space.size());
  }
}

TEST_P(EveryStrategy, GoesOnWhenAnswersNeverCome) {
  const kernel::Space space = holey_space();
  const auto strategy = make(GetParam(), space);
  Indices order;
  while (const auto index = strategy->propose()) {
    order.push_back(*index);
    if (order.size() % 3 == 0) strategy->observe(*index, bowl(space, *index));
  }
  expect_each_once(order, space.size());
}

TEST_P(EveryStrategy, SurvivesASpaceWhereEverythingFails) {
  const kernel::Space space = holey_space();
  const auto strategy = make(GetParam(), space);
  expect_each_once(run(*strategy, 1, [](std::size_t) { return kFailed; }), space.size());
}

TEST_P(EveryStrategy, SurvivesMostlyFailuresAndNotANumber) {
  const kernel::Space space = holey_space();
  const auto strategy = make(GetParam(), space);
  expect_each_once(
      run(*strategy, 2,
          [&](std::size_t i) {
            return i % 4 == 0 ? bowl(space, i) : i % 4 == 1 ? std::nan("") : i % 4 == 2 ? -kFailed : kFailed;
          }),
      space.size());
}

TEST_P(EveryStrategy, SurvivesEqualNegativeAndHugeObjectives) {
  const kernel::Space space = holey_space();
  const std::vector<double (*)(const kernel::Space&, std::size_t)> objectives{
      [](const kernel::Space&, std::size_t) { return 5.0; },
      [](const kernel::Space&, std::size_t) { return 0.0; },
      [](const kernel::Space& s, std::size_t i) { return bowl(s, i) - 20; },
      [](const kernel::Space& s, std::size_t i) { return 1e300 * bowl(s, i); },
      [](const kernel::Space& s, std::size_t i) {
        return i % 2 == 0 ? 1e308 : -1e308 * bowl(s, 0) / bowl(s, i);
      }};
  for (const auto& objective : objectives) {
    const auto strategy = make(GetParam(), space);
    expect_each_once(run(*strategy, 1, [&](std::size_t i) { return objective(space, i); }), space.size());
  }
}

TEST_P(EveryStrategy, HandlesASpaceOfOnePoint) {
  const kernel::Space space = line(1);
  const auto strategy = make(GetParam(), space);
  EXPECT_EQ(strategy->propose(), 0u);
  EXPECT_FALSE(strategy->propose());
  strategy->observe(0, 1.0);
  EXPECT_FALSE(strategy->propose());
}

TEST_P(EveryStrategy, HandlesASpaceOfOneTunable) {
  const kernel::Space space = line(60);
  const auto strategy = make(GetParam(), space);
  expect_each_once(run(*strategy, 1, [&](std::size_t i) { return bowl(space, i); }), 60);
}

TEST_P(EveryStrategy, HandlesTunablesOfOneValue) {
  std::vector<std::uint16_t> points;
  for (std::uint16_t x = 0; x < 40; ++x) points.insert(points.end(), {0, x, 0});
  const auto space =
      kernel::Space::from_points({tunable("A", 1), tunable("X", 40), tunable("B", 1)}, std::move(points));
  const auto strategy = make(GetParam(), space);
  expect_each_once(run(*strategy, 1, [&](std::size_t i) { return bowl(space, i); }), 40);
}

TEST_P(EveryStrategy, IsReproducibleByItsSeed) {
  const kernel::Space space = holey_space();
  const auto objective = [&](std::size_t i) { return bowl(space, i); };
  const auto first = make(GetParam(), space, {.seed = 5});
  const auto second = make(GetParam(), space, {.seed = 5});
  EXPECT_EQ(run(*first, 3, objective), run(*second, 3, objective));
}

TEST_P(EveryStrategy, VariesWithItsSeedUnlessItIsExhaustive) {
  const kernel::Space space = holey_space();
  const auto objective = [&](std::size_t i) { return bowl(space, i); };
  const auto first = make(GetParam(), space, {.seed = 5});
  const auto second = make(GetParam(), space, {.seed = 6});
  EXPECT_EQ(run(*first, 1, objective) == run(*second, 1, objective), GetParam() == "exhaustive");
}

TEST_P(EveryStrategy, DoesNotProposeWhatAnEarlierRunMeasured) {
  const kernel::Space space = holey_space();
  const auto strategy = make(GetParam(), space);
  Indices order;
  for (std::size_t index = 0; index < space.size(); index += 2) {
    strategy->observe(index, index % 6 == 0 ? kFailed : bowl(space, index));
    order.push_back(index);
  }
  const Indices rest = run(*strategy, 1, [&](std::size_t i) { return bowl(space, i); });
  order.insert(order.end(), rest.begin(), rest.end());
  expect_each_once(order, space.size());
}

TEST_P(EveryStrategy, EndsAtOnceWhenAnEarlierRunMeasuredEverything) {
  const kernel::Space space = line(5);
  const auto strategy = make(GetParam(), space);
  for (std::size_t index = 0; index < 5; ++index) strategy->observe(index, 1.0);
  EXPECT_FALSE(strategy->propose());
}

TEST_P(EveryStrategy, TakesASecondAnswerForTheSameConfig) {
  const kernel::Space space = holey_space();
  const auto strategy = make(GetParam(), space);
  for (const double objective : {1.0, 50.0, kFailed, 2.0}) strategy->observe(3, objective);
  EXPECT_EQ(run(*strategy, 1,
                [&](std::size_t i) {
                  strategy->observe(3, i % 2 == 0 ? kFailed : 1.0);
                  return bowl(space, i);
                })
                .size(),
            space.size() - 1);
}

TEST_P(EveryStrategy, StartsFromTheHeadOfTheFirstGuesses) {
  const kernel::Space space = holey_space();
  EXPECT_EQ(make(GetParam(), space, {.first_guesses = {17, 4, 9}})->propose(), 17u);
}

TEST_P(EveryStrategy, SkipsFirstGuessesThatAreTakenOrNoConfigs) {
  const kernel::Space space = line(4);
  const auto strategy = make(GetParam(), space, {.first_guesses = {999, 2, 2, 2, 1}});
  strategy->observe(2, 1.0);
  expect_each_once(
      [&] {
        Indices order = run(*strategy, 1, [](std::size_t) { return 2.0; });
        order.push_back(2);
        return order;
      }(),
      4);
}

TEST(Exhaustive, FollowsTheFirstGuessesAndThenTheIndex) {
  const kernel::Space space = line(6);
  const auto strategy = make("exhaustive", space, {.first_guesses = {4, 1}});
  EXPECT_EQ(run(*strategy, 1, [](std::size_t) { return 1.0; }), (Indices{4, 1, 0, 2, 3, 5}));
}

TEST(Random, IsUniform) {
  const kernel::Space space = line(10);
  std::vector<int> firsts(10);
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    ++firsts[*make("random", space, {.seed = seed})->propose()];
  for (const int count : firsts) EXPECT_NEAR(count, 200, 60);
}

TEST(Create, AnUnknownNameIsAnErrorThatListsTheStrategies) {
  const kernel::Space space = line(2);
  const auto strategy = create("magic", space, {});
  ASSERT_FALSE(strategy);
  EXPECT_EQ(strategy.error().code, ErrorCode::kUsage);
  EXPECT_THAT(strategy.error().message, testing::HasSubstr("differential-evolution, gradient"));
}

}  // namespace
}  // namespace ak::search
