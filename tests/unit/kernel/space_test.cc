#include "autokernel/kernel/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "autokernel/kernel/space_builder.h"
#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string space_text(std::string_view where) {
  return plain_text(
      "[tunables]\nAA = [1, 2, 3, 4]\nFAST = [true, false]\nBB = [10, 20, 30]\n[constraints]\nwhere = [" +
      std::string(where) + "]\n[defaults]\nAA = 2\nFAST = true\nBB = 20\n");
}

Space space_of(const std::string& text, const std::vector<Problem>& problems = {problem()}) {
  Result<Space> space = Space::create(parsed(text), gpu(), problems);
  EXPECT_TRUE(space) << space.error().message;
  return space ? std::move(*space) : Space::from_points({{"AA", {std::int64_t{0}}}}, {});
}

std::string empty_error(const std::string& text, const std::vector<Problem>& problems = {problem()},
                        const DeviceInfo& device = gpu()) {
  const Result<Space> space = Space::create(parsed(text), device, problems);
  EXPECT_FALSE(space);
  return space ? "" : space.error().message;
}

TEST(Space, WithoutConstraintsItIsTheProductInTheWrittenOrder) {
  const Space space = space_of(space_text(""));
  EXPECT_EQ(space.size(), 24u);
  EXPECT_EQ(space.raw_size(), 24u);
  EXPECT_EQ(space.dimensions(), 3u);
  EXPECT_EQ(space.config(0).to_string(), "AA=1 BB=10 FAST=true");
  EXPECT_EQ(space.config(1).to_string(), "AA=1 BB=20 FAST=true");
  EXPECT_EQ(space.config(3).to_string(), "AA=1 BB=10 FAST=false");
  EXPECT_EQ(space.config(23).to_string(), "AA=4 BB=30 FAST=false");
  EXPECT_TRUE(space.pruned().empty());
}

TEST(Space, ConstraintsRemoveConfigsAndAreCounted) {
  const Space space = space_of(space_text("\"AA >= 3\", \"FAST || BB == 10\""));
  EXPECT_EQ(space.size(), 2u * 4u);
  ASSERT_EQ(space.pruned().size(), 2u);
  EXPECT_EQ(space.pruned()[0].cause, "where: AA >= 3");
  EXPECT_EQ(space.pruned()[0].count, 12u);
  EXPECT_EQ(space.pruned()[0].example, "AA=1: where does not hold: AA >= 3 (AA = 1)");
  EXPECT_EQ(space.pruned()[1].count, 4u);
}

TEST(Space, EveryRawConfigIsValidOrCountedOnce) {
  const Space space = space_of(space_text("\"AA * BB <= 60\", \"AA != 2\", \"BB % 20 == 10 || FAST\""));
  std::uint64_t removed = 0;
  for (const Space::Pruned& it : space.pruned()) removed += it.count;
  EXPECT_EQ(removed + space.size(), space.raw_size());
}

TEST(Space, IndicesConfigsAndCoordinatesAreTheSameThing) {
  const Space space = space_of(space_text("\"AA * BB <= 60\""));
  for (std::size_t i = 0; i < space.size(); ++i) {
    EXPECT_EQ(space.index_of(space.config(i)), i);
    EXPECT_EQ(space.index_at(space.coordinates(i)), i);
  }
}

TEST(Space, WhatIsNotInItHasNoIndex) {
  const Space space = space_of(space_text("\"AA > 1\""));
  Config config = space.config(0);
  config.values["AA"] = std::int64_t{1};
  EXPECT_EQ(space.index_of(config), std::nullopt);
  config.values["AA"] = std::int64_t{77};
  EXPECT_EQ(space.index_of(config), std::nullopt);
  config.values.erase("AA");
  EXPECT_EQ(space.index_of(config), std::nullopt);
  EXPECT_EQ(space.index_at(std::vector<std::uint16_t>{0, 0, 0}), std::nullopt);
  EXPECT_EQ(space.index_at(std::vector<std::uint16_t>{1, 0}), std::nullopt);
  EXPECT_EQ(space.index_at(std::vector<std::uint16_t>{1, 0, 9}), std::nullopt);
}

TEST(Space, AFileWithoutTunablesHasOneConfig) {
  const Space space = space_of(plain_text(""));
  EXPECT_EQ(space.size(), 1u);
  EXPECT_EQ(space.config(0), Config{});
  EXPECT_EQ(space.index_of(Config{}), 0u);
  EXPECT_TRUE(space.neighbours(0, Space::Neighbourhood::kHamming).empty());
  EXPECT_EQ(space.nearest({}, {}), 0u);
}

TEST(Space, AConfigIsInWhenItIsValidForOneOfTheProblems) {
  const std::string text = space_text("\"N % AA == 0\"");
  EXPECT_EQ(space_of(text, {problem({{"N", 2}})}).size(), 2u * 6u);
  EXPECT_EQ(space_of(text, {problem({{"N", 3}})}).size(), 2u * 6u);
  EXPECT_EQ(space_of(text, {problem({{"N", 2}}), problem({{"N", 3}}), problem({{"N", 2}})}).size(), 3u * 6u);
}

TEST(Space, ProblemsThatTheFileCannotRunAreLeftOut) {
  Problem half = problem();
  half.dtype = DType::kF16;
  EXPECT_EQ(space_of(space_text(""), {half, problem()}).size(), 24u);
  EXPECT_THAT(empty_error(space_text(""), {half}), HasSubstr("dtype f16 is not among the file's: f32"));
}

TEST(Space, AnExpressionThatCannotBeEvaluatedRemovesThoseConfigs) {
  const Space space = space_of(space_text("\"12 / (AA - 2) > 0\""));
  EXPECT_EQ(space.size(), 2u * 6u);
}

TEST(Space, ContradictoryConstraintsAreListedWithWhatEachRemoved) {
  EXPECT_EQ(empty_error(space_text("\"AA > 2\", \"AA < 3\"")),
            "test.cu: none of 24 configs is valid on test GPU\n"
            "  where: AA > 2 removed 12, e.g. AA=1: where does not hold: AA > 2 (AA = 1)\n"
            "  where: AA < 3 removed 12, e.g. AA=3: where does not hold: AA < 3 (AA = 3)\n"
            "  block: [1] removed 0\n"
            "  grid: [1] removed 0\n"
            "  hint: relax what removes most, or add values to [tunables]");
}

TEST(Space, AConstraintWithoutTunablesCanEmptyIt) {
  EXPECT_THAT(empty_error(space_text("\"N == 7\"")),
              HasSubstr("where: N == 7 removed 24, e.g. where does not hold: N == 7 (N = 100)"));
}

TEST(Space, NoProblemIsAnError) { EXPECT_FALSE(Space::create(parsed(space_text("")), gpu(), {})); }

TEST(Space, AnUnknownNameIsAnErrorAtItsPlace) {
  EXPECT_THAT(empty_error(space_text("\"AA > 1 && K > 2\"")),
              ::testing::StartsWith("test.cu:8:21: unknown name 'K'"));
}

std::string many_tunables(int count, std::string_view where) {
  std::string tunables = "[tunables]\n", defaults = "[defaults]\n";
  for (int i = 0; i < count; ++i) {
    tunables += fmt::format("T{} = [0, 1, 2, 3, 4, 5, 6, 7]\n", i + 10);
    defaults += fmt::format("T{} = 0\n", i + 10);
  }
  return plain_text(tunables + "[constraints]\nwhere = [" + std::string(where) + "]\n" + defaults);
}

TEST(Space, AHugeProductIsFineWhenConstraintsPruneEarly) {
  std::string where;
  // First with last: the order of binding is the enumeration's own.
  for (int i = 0; i < 10; ++i) {
    where += fmt::format("{}\"T{} <= 1\", \"T{} == T{}\"", i == 0 ? "" : ", ", i + 10, 29 - i, i + 10);
  }
  const Space space = space_of(many_tunables(20, where));
  EXPECT_EQ(space.size(), 1u << 10);
  EXPECT_EQ(space.raw_size(), std::uint64_t{1} << 60);
  for (std::size_t i = 1; i < space.size(); ++i) {
    ASSERT_TRUE(std::ranges::lexicographical_compare(space.coordinates(i - 1), space.coordinates(i)));
  }
}

TEST(Space, AProductBeyondCountingIsAnError) {
  EXPECT_THAT(empty_error(many_tunables(21, "")), HasSubstr("more than 2^62 combinations"));
}

std::string limit_error(std::string_view where, SpaceLimits limits) {
  const KernelFile file = parsed(many_tunables(6, where));
  const std::vector<Problem> problems = {problem()};
  const DeviceInfo device = gpu();  // the builder keeps a reference
  SpaceBuilder builder(file, device, limits);
  EXPECT_TRUE(builder.add_problems(problems));
  const Status status = builder.enumerate();
  return status ? "" : status.error().message;
}

TEST(Space, TooManyValidConfigsAreAnErrorThatSaysWhatToDo) {
  EXPECT_THAT(limit_error("", {.max_bytes = 1000 * 20}),
              HasSubstr("more than 1000 of 262144 configs are valid: list fewer values or add constraints"));
  EXPECT_EQ(limit_error("\"T10 + T11 < 2\", \"T12 + T13 < 2\", \"T14 + T15 < 2\"", {.max_bytes = 1000 * 20}),
            "");
}

TEST(Space, ConstraintsThatPruneTooLateAreAnErrorThatSaysWhatToDo) {
  const std::string late = "\"T10 + T11 + T12 + T13 + T14 + T15 == 0\"";
  EXPECT_THAT(limit_error(late, {.max_visited = 10'000}),
              HasSubstr("add constraints on few tunables each to 'where'"));
  const std::string early = "\"T10 + T11 == 0\", \"T12 + T13 == 0\", \"T14 + T15 == 0\"";
  EXPECT_EQ(limit_error(early, {.max_visited = 10'000}), "");
}

TEST(Space, SamplesAreUniformEnoughAndReproducible) {
  const Space space = space_of(space_text(""));
  Rng rng(7), same(7);
  std::set<std::size_t> seen;
  for (int i = 0; i < 500; ++i) {
    const std::size_t index = space.sample(rng);
    EXPECT_EQ(index, space.sample(same));
    ASSERT_LT(index, space.size());
    seen.insert(index);
  }
  EXPECT_EQ(seen.size(), space.size());
}

TEST(Neighbours, HammingChangesOneTunableToAnyValidValue) {
  const Space space = space_of(space_text("\"AA != 3\""));
  const std::size_t centre = *space.index_at(std::vector<std::uint16_t>{1, 0, 1});
  std::vector<std::string> found;
  for (std::size_t i : space.neighbours(centre, Space::Neighbourhood::kHamming))
    found.push_back(space.config(i).to_string());
  EXPECT_THAT(found, ElementsAre("AA=1 BB=20 FAST=true", "AA=4 BB=20 FAST=true", "AA=2 BB=20 FAST=false",
                                 "AA=2 BB=10 FAST=true", "AA=2 BB=30 FAST=true"));
}

TEST(Neighbours, AdjacentTakesTheNextAndThePreviousValue) {
  const Space space = space_of(space_text("\"AA != 3\""));
  const std::size_t centre = *space.index_at(std::vector<std::uint16_t>{1, 0, 2});
  std::vector<std::string> found;
  for (std::size_t i : space.neighbours(centre, Space::Neighbourhood::kAdjacent))
    found.push_back(space.config(i).to_string());
  EXPECT_THAT(found, ElementsAre("AA=1 BB=30 FAST=true", "AA=2 BB=30 FAST=false", "AA=2 BB=20 FAST=true"));
}

TEST(Nearest, IsTheValidPointAtTheSmallestDistance) {
  const Space space = space_of(space_text("\"AA != 2\""));
  const auto at = [&](double a, double fast, double b, const std::vector<bool>& taken = {}) {
    return space.nearest(std::vector<double>{a, fast, b}, taken);
  };
  EXPECT_EQ(space.config(*at(2.2, 0.1, 1.9)).to_string(), "AA=3 BB=30 FAST=true");
  // AA=2 is invalid: 0.9 is nearer to AA=1 than to AA=3.
  EXPECT_EQ(space.config(*at(0.9, 0, 0)).to_string(), "AA=1 BB=10 FAST=true");
  EXPECT_EQ(space.config(*at(1e300, -1e300, 5)).to_string(), "AA=4 BB=30 FAST=true");
}

TEST(Nearest, TiesGoToTheLowestIndexAndTakenOnesAreSkipped) {
  const Space space = space_of(space_text("\"FAST\""));
  const std::vector<double> half{0.5, 0, 0};
  std::vector<bool> taken(space.size(), false);
  EXPECT_EQ(space.nearest(half, taken), 0u);
  taken[0] = true;
  EXPECT_EQ(space.config(*space.nearest(half, taken)).to_string(), "AA=2 BB=10 FAST=true");
  taken.assign(space.size(), true);
  EXPECT_EQ(space.nearest(half, taken), std::nullopt);
}

TEST(Nearest, CoordinatesThatAreNoNumbersDoNotLoseTheSearch) {
  const Space space = space_of(space_text(""));
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(space.config(*space.nearest(std::vector<double>{nan, inf, -inf}, {})).to_string(),
            "AA=1 BB=10 FAST=false");
}

TEST(FromPoints, TheGivenPointsAreTheSpace) {
  const std::vector<Tunable> tunables = {{"AA", {std::int64_t{1}, std::int64_t{2}}},
                                         {"KIND", {std::string("a"), std::string("b")}}};
  const Space space = Space::from_points(tunables, {1, 1, 0, 0});
  EXPECT_EQ(space.size(), 2u);
  EXPECT_EQ(space.raw_size(), 4u);
  EXPECT_EQ(space.config(0).to_string(), "AA=2 KIND=b");
  EXPECT_EQ(space.index_at(std::vector<std::uint16_t>{0, 0}), 1u);
  EXPECT_EQ(space.index_at(std::vector<std::uint16_t>{0, 1}), std::nullopt);
}

TEST(FromPoints, TheFirstOfEqualPointsIsFound) {
  const Space space = Space::from_points({{"AA", {std::int64_t{1}, std::int64_t{2}}}}, {1, 1, 0});
  EXPECT_EQ(space.index_at(std::vector<std::uint16_t>{1}), 0u);
}

}  // namespace
}  // namespace ak::kernel
