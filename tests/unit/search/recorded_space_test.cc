#include "autokernel/search/recorded_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ak::search {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view csv) {
  const auto recorded = RecordedSpace::parse(csv, "x.csv");
  return recorded ? "accepted" : recorded.error().message;
}

double objective_of(const RecordedSpace& recorded, const Config& config) {
  return recorded.objective(recorded.space().index_of(config).value());
}

TEST(RecordedSpace, ReadsTunablesTimesAndFailures) {
  const auto recorded =
      RecordedSpace::parse(
          "# a comment\r\nA,mode,time_ms,eval_s\r\n16,fast,2.5,9\r\n8,slow,inf,9\r\n8,fast,1.25,9\n", "x")
          .value();
  EXPECT_EQ(recorded.space().size(), 3u);
  EXPECT_EQ(recorded.space().dimensions(), 2u);
  EXPECT_EQ(recorded.best(), 1.25);
  EXPECT_EQ(recorded.failures(), 1u);
  const auto text = [](const char* value) { return TunableValue(std::string(value)); };
  EXPECT_EQ(objective_of(recorded, {{{"A", std::int64_t{16}}, {"mode", text("fast")}}}), 2.5);
  EXPECT_EQ(objective_of(recorded, {{{"A", std::int64_t{8}}, {"mode", text("slow")}}}), kFailed);
}

TEST(RecordedSpace, OrdersIntegersByValueSoThatNeighboursAreNeighbours) {
  const auto recorded = RecordedSpace::parse("A,time_ms\n128,1\n16,2\n32,3\n", "x").value();
  const auto& values = recorded.space().tunables()[0].values;
  EXPECT_THAT(values, testing::ElementsAre(std::int64_t{16}, std::int64_t{32}, std::int64_t{128}));
}

TEST(RecordedSpace, TwoSpellingsOfOneIntegerAreOneConfig) {
  EXPECT_THAT(error_of("A,time_ms\n8,1\n08,2\n"), HasSubstr("x.csv:3: the same config as line 2"));
}

TEST(RecordedSpace, MalformedInputIsAnErrorWithItsLine) {
  EXPECT_THAT(error_of(""), HasSubstr("no header"));
  EXPECT_THAT(error_of("# only\n"), HasSubstr("no header"));
  EXPECT_THAT(error_of("A,B\n1,2\n"), HasSubstr("x.csv:1: no column time_ms"));
  EXPECT_THAT(error_of("time_ms\n1\n"), HasSubstr("no tunables"));
  EXPECT_THAT(error_of("A,time_ms\n"), HasSubstr("no configs"));
  EXPECT_THAT(error_of("A,time_ms\n1,1\n2\n"), HasSubstr("x.csv:3: 1 cells"));
  EXPECT_THAT(error_of("A,time_ms\n1,1\n2,3,4\n"), HasSubstr("x.csv:3: 3 cells"));
  EXPECT_THAT(error_of("A,time_ms\n1,inf\n"), HasSubstr("every config failed"));
  for (const char* time : {"", "0", "-1", "nan", "-inf", "1e999", "1x", " 1"}) {
    EXPECT_THAT(error_of(std::string("A,time_ms\n1,") + time + "\n"), HasSubstr("x.csv:2")) << time;
  }
}

TEST(RecordedSpace, TheFixturesHoldWhatTheirReadmeSays) {
  const std::string folder = std::string(AK_SOURCE_DIR) + "/tests/data/spaces/";
  const auto convolution = RecordedSpace::load(folder + "convolution_a100.csv").value();
  EXPECT_EQ(convolution.name(), "convolution_a100");
  EXPECT_EQ(convolution.space().size(), 4362u);
  EXPECT_EQ(convolution.failures(), 161u);
  EXPECT_EQ(RecordedSpace::load(folder + "pnpoly_rtx3090.csv")->failures(), 318u);
  EXPECT_EQ(RecordedSpace::load(folder + "coulomb_2080ti.csv")->space().size(), 210u);
}

TEST(RecordedSpace, AMissingFileIsAnError) { EXPECT_FALSE(RecordedSpace::load("/nonexistent/space.csv")); }

TEST(Replay, StopsAtTheEvaluationsAndTracksTheBest) {
  const auto recorded = RecordedSpace::parse("A,time_ms\n1,inf\n2,4\n3,8\n4,2\n", "x").value();
  const auto strategy = std::move(create("exhaustive", recorded.space(), {}).value());
  const Replay result = replay(recorded, *strategy, 3);
  EXPECT_THAT(result.best_so_far, testing::ElementsAre(kFailed, 4, 4));
  EXPECT_EQ(result.fraction_of_optimum(recorded, 0), 0);
  EXPECT_EQ(result.fraction_of_optimum(recorded, 1), 0);
  EXPECT_EQ(result.fraction_of_optimum(recorded, 2), 0.5);
  EXPECT_EQ(result.fraction_of_optimum(recorded, 99), 0.5);
}

}  // namespace
}  // namespace ak::search
