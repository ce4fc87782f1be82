#include "autokernel/op/target_file.h"

#include <gmock/gmock.h>

#include "sample_family.h"

namespace ak::op {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

const EmbeddedFile kEmbedded[] = {{"scale_rows/op.toml", testing::kSample},
                                  {"scale_rows/reference.cu", "//"}};

Registry registry() {
  Result<Registry> made = Registry::create(kEmbedded, {});
  EXPECT_TRUE(made);
  return std::move(*made);
}

constexpr std::string_view kTarget = R"(schema = 1
op = "scale_rows"
[[problem]]
id = "a"
dims = { ROWS = 4, COLS = 6 }
flags = { GROUP = 2 }
scalars = { factor = 1e-6 }
dtype = "f16"
strides = {}
has = ["bias"]
calls = 9
sites = ["layer.0", "layer \"1\""]
role = "primary"
[[problem]]
dims = { COLS = 5 }
dtype = "f32"
role = "sweep"
)";

Result<Target> parse(std::string_view text) {
  return parse_target(text, "targets/rows/target.toml", registry());
}

std::string error_with(std::string_view from, std::string_view to) {
  std::string text(kTarget);
  text.replace(text.find(from), from.size(), to);
  return message_of(parse(text));
}

TEST(TargetFile, ReadsProblemsWithWeightsSitesAndRoles) {
  const Result<Target> target = parse(kTarget);
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->id, "rows");
  ASSERT_EQ(target->problems.size(), 2U);
  EXPECT_EQ(target->problems[0].calls, 9);
  EXPECT_EQ(target->problems[0].problem.scalars.at("factor"), 1e-6);
  EXPECT_EQ(target->problems[0].sites[1], "layer \"1\"");
  EXPECT_EQ(target->problems[1].id, "p1");
  EXPECT_EQ(target->problems[1].role, Role::kSweep);
  EXPECT_EQ(target->problems[1].problem.dims.at("ROWS"), 8);
}

TEST(TargetFile, WhatIsWrittenReadsBackTheSame) {
  const Target target = *parse(kTarget);
  const Result<Target> again = parse(format_target(target));
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_EQ(again->problems.size(), target.problems.size());
  for (std::size_t i = 0; i < target.problems.size(); ++i) {
    EXPECT_EQ(again->problems[i].problem, target.problems[i].problem);
    EXPECT_EQ(again->problems[i].sites, target.problems[i].sites);
    EXPECT_EQ(again->problems[i].calls, target.problems[i].calls);
    EXPECT_EQ(again->problems[i].role, target.problems[i].role);
    EXPECT_EQ(again->problems[i].id, target.problems[i].id);
  }
}

TEST(TargetFile, AFileWithoutAFolderIsNamedAfterItsFamily) {
  EXPECT_EQ(parse_target(kTarget, "target.toml", registry())->id, "scale_rows");
}

TEST(TargetFile, AnUnknownFamilyIsPointedAt) {
  EXPECT_THAT(error_with("\"scale_rows\"", "\"gelu\""), HasSubstr("target.toml:2:6: no op family `gelu`"));
}

TEST(TargetFile, AWrongDimIsPointedAtItsProblem) {
  EXPECT_THAT(error_with("ROWS = 4", "ROWS = 0"), HasSubstr("target.toml:3:"));
}

TEST(TargetFile, StridesAreNotSupportedYet) {
  EXPECT_THAT(error_with("strides = {}", "strides = { x = [1, 4] }"),
              HasSubstr("not supported yet: `x` must be contiguous"));
}

TEST(TargetFile, IdsAreUnique) {
  EXPECT_THAT(error_with("\"a\"", "\"p1\""), HasSubstr("two problems are called `p1`"));
}

TEST(TargetFile, WeightsArePositive) {
  EXPECT_THAT(error_with("calls = 9", "calls = 0"), HasSubstr("above 0"));
}

TEST(TargetFile, ATargetWithoutAPrimaryProblemIsRefused) {
  EXPECT_THAT(error_with("role = \"primary\"", "role = \"sweep\""), HasSubstr("no problem is primary"));
}

TEST(TargetFile, ATargetWithoutProblemsIsRefused) {
  EXPECT_THAT(message_of(parse("schema = 1\nop = \"scale_rows\"\n")), HasSubstr("at least one [[problem]]"));
}

TEST(DefaultTarget, IsEverySizeOfTheSetInEveryDtype) {
  const Registry families = registry();
  const Result<Target> target =
      default_target(**families.find("scale_rows"), {DType::kF32, DType::kF16}, "sweep");
  ASSERT_TRUE(target) << target.error().message;
  ASSERT_EQ(target->problems.size(), 2U);
  EXPECT_EQ(target->problems[1].problem.dtype, DType::kF16);
  EXPECT_EQ(target->problems[1].role, Role::kPrimary);
}

TEST(DefaultTarget, AnUnknownSetListsTheSets) {
  const Registry families = registry();
  EXPECT_THAT(message_of(default_target(**families.find("scale_rows"), {DType::kF32}, "huge")),
              HasSubstr("expected one of edge, primary, smoke, sweep"));
}

}  // namespace
}  // namespace ak::op
