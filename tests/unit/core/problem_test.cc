#include "autokernel/core/problem.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace ak {
namespace {

Problem sample() {
  return {.op = "matmul",
          .dims = {{"BATCH", 1}, {"M", 4096}, {"N", 512}, {"K", 64}},
          .flags = {{"TRANS_A", 0}, {"TRANS_B", 1}},
          .scalars = {{"eps", 1e-6}, {"bound", std::numeric_limits<double>::infinity()}},
          .dtype = DType::kBF16,
          .strides = {{"b", {0, 64, 1}}},
          .has = {"bias"}};
}

TEST(Problem, LabelShowsDimsFlagsThatAreSetDtypeAndOptionalTensors) {
  EXPECT_EQ(sample().label(), "BATCH=1 K=64 M=4096 N=512 TRANS_B=1 bf16 +bias b:strided");
}

TEST(Problem, RoundTripsThroughJson) {
  const auto back = problem_from_json(to_json(sample()), "problem");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample());
}

TEST(Problem, HashDependsOnEveryField) {
  const std::string reference = sample().hash();
  std::vector<Problem> others(7, sample());
  others[0].op = "other";
  others[1].dims["M"] = 1;
  others[2].flags["TRANS_A"] = 1;
  others[3].scalars["eps"] = 1e-5;
  others[4].dtype = DType::kF16;
  others[5].strides.clear();
  others[6].has.clear();
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(others[i].hash(), reference) << i;
  EXPECT_EQ(sample().hash(), reference);
}

TEST(Problem, KnowsItsOptionalTensors) {
  EXPECT_TRUE(sample().has_tensor("bias"));
  EXPECT_FALSE(sample().has_tensor("residual"));
}

TEST(Problem, OptionalTensorsAreSortedWhenRead) {
  Json json = to_json(sample());
  json["has"] = {"residual", "bias"};
  EXPECT_EQ(problem_from_json(json, "problem")->has, (std::vector<std::string>{"bias", "residual"}));
}

TEST(Target, RoundTripsThroughJson) {
  const Target target{
      .id = "matmul-1",
      .op = "matmul",
      .problems = {
          {.id = "p0", .problem = sample(), .calls = 2.5, .sites = {"a", "b"}, .role = Role::kPrimary},
          {.id = "p1", .problem = sample(), .calls = 1, .sites = {}, .role = Role::kSweep}}};
  const auto back = target_from_json(to_json(target), "target");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(target));
  EXPECT_EQ(back->problems[1].role, Role::kSweep);
  EXPECT_EQ(back->problems[0].sites, (std::vector<std::string>{"a", "b"}));
}

TEST(Target, AnErrorNamesTheProblemByItsPlace) {
  Json json =
      to_json(Target{.id = "t", .op = "o", .problems = {{.id = "p0", .problem = sample(), .sites = {}}}});
  json["problems"][0]["problem"]["dims"]["M"] = "many";
  const auto result = target_from_json(json, "target");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("target.problems[0].problem.dims.M"), std::string::npos)
      << result.error().message;
}

TEST(Schema, AnotherNumberIsRefusedWithTheOneThatIsRead) {
  Json json = to_json(sample());
  json["schema"] = 2;
  const auto result = problem_from_json(json, "problem");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "problem.schema: this version of autokernel reads schema 1, found 2");
}

}  // namespace
}  // namespace ak
