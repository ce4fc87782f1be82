#include "autokernel/plan/plan.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "autokernel/plan/extract.h"
#include "autokernel/plan/op_traits.h"
#include "sample_trace.h"

namespace ak::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SampleOp;
using ::testing::SizeIs;

const op::Registry& families() {
  static const op::Registry kRegistry = *op::Registry::create(op::embedded_families(), {});
  return kRegistry;
}

Plan plan_of(const std::vector<SampleOp>& ops, const std::optional<roofline::Peaks>& peaks = {}) {
  Trace trace = testing::read_sample(testing::trace_text(ops));
  const CallTree tree = CallTree::build(trace);
  const Result<Plan> plan =
      make_plan(trace, tree, match_trace(trace, tree, families(), *embedded_op_traits()), peaks);
  AK_CHECK(plan.has_value());
  return *plan;
}

/// 1000 GB/s and 100 TFLOP/s.
roofline::Peaks round_peaks() {
  roofline::Peaks peaks;
  peaks.bandwidths = {{1, 1000, 1000, roofline::Source::kTable}};
  peaks.matrix_tflops[DType::kF32] = {100, roofline::Source::kTable};
  return peaks;
}

SampleOp linear(const std::string& dims, double us = 10) {
  return {"aten::linear", dims, R"(["float", "float", ""])", R"(["", "", ""])", "[]", us};
}
SampleOp relu(const std::string& dims, double us = 10) {
  return {"aten::relu_", dims, R"(["float"])", "[]", "[]", us};
}

TEST(Plan, MergesEqualProblemsIntoOneSite) {
  const Plan plan = plan_of({linear("[[2, 3, 8], [16, 8], []]"), linear("[[6, 8], [16, 8], []]", 30)});
  ASSERT_THAT(plan.sites, SizeIs(1));
  EXPECT_EQ(plan.sites[0].calls, 2);
  EXPECT_EQ(plan.sites[0].time_us, 40);
  EXPECT_EQ(plan.sites[0].problem.label(), "BATCH=1 K=8 M=6 N=16 TRANS_B=1 f32");
}

TEST(Plan, ASequenceIsOneSiteAndViewsAreSeenThrough) {
  const SampleOp view{
      "aten::view", "[[6, 16], []]", R"(["float", "ScalarList"])", R"(["", "[2, 3, 16]"])", "[]", 0};
  const Plan plan = plan_of({linear("[[6, 8], [16, 8], []]"), view, relu("[[2, 3, 16]]")});
  ASSERT_THAT(plan.sites, SizeIs(1));
  EXPECT_EQ(plan.sites[0].problem.flags.at("ACT"), 1);
  EXPECT_THAT(plan.sites[0].aten, ElementsAre("aten::linear", "aten::relu"));
  EXPECT_THAT(plan.other, IsEmpty());
}

TEST(Plan, AnOpInBetweenOrAnotherSizeEndsASequence) {
  const SampleOp other{"aten::sin", "[[6, 16]]", R"(["float"])"};
  EXPECT_EQ(
      plan_of({linear("[[6, 8], [16, 8], []]"), other, relu("[[6, 16]]")}).sites[0].problem.flags.at("ACT"),
      0);
  const Plan plan = plan_of({linear("[[6, 8], [16, 8], []]"), relu("[[5, 16]]")});
  // The shape of a result is not recorded, but its users agree on it.
  EXPECT_THAT(plan.sites, SizeIs(1));
}

TEST(Plan, WhatDoesNotFitTheFamilyIsListedUnderItsOp) {
  const SampleOp doubles{"aten::linear", "[[6, 8], [16, 8], []]", R"(["double", "double", ""])"};
  const SampleOp full_sum{"aten::sum", "[[6, 8], []]", R"(["float", ""])", R"(["", ""])"};
  const Plan plan = plan_of({doubles, full_sum});
  EXPECT_THAT(plan.sites, IsEmpty());
  ASSERT_THAT(plan.other, SizeIs(2));
  EXPECT_EQ(plan.other[0].share, 0.5);
}

TEST(Plan, FloorsCeilingsAndGainsFollowFromPeaks) {
  // 4 bytes x (1000 x 1000 x 3) at 1000 GB/s are 12 us, 2e9 flops at 100 TFLOP/s 20 us.
  const Plan plan = plan_of({linear("[[1000, 1000], [1000, 1000], []]", 60),
                             {"aten::sin", "[[1]]", R"(["float"])", "[]", "[]", 40}},
                            round_peaks());
  ASSERT_THAT(plan.sites, SizeIs(1));
  const PlanSite& site = plan.sites[0];
  EXPECT_DOUBLE_EQ(*site.floor_us, 20);
  EXPECT_EQ(site.bound, "compute");
  EXPECT_DOUBLE_EQ(*site.realistic_us, 40);
  EXPECT_DOUBLE_EQ(site.share, 0.6);
  EXPECT_DOUBLE_EQ(site.ceiling, 2.5);
  EXPECT_DOUBLE_EQ(plan.model_ceiling, 100.0 / 60);
  EXPECT_EQ(site.priority, 1);
}

TEST(Plan, NothingIsWorthwhileWhereAllRunsAtItsFloor) {
  const Plan plan = plan_of({linear("[[1000, 1000], [1000, 1000], []]", 20)}, round_peaks());
  EXPECT_EQ(plan.sites[0].priority, 0);
  EXPECT_THAT(by_priority(plan), IsEmpty());
  EXPECT_EQ(plan.model_ceiling, 1);
}

TEST(Plan, IsTheSameAfterItsJson) {
  const Plan plan = plan_of({{"aten::addmm", "[[16], [6, 8], [8, 16], [], []]",
                              R"(["float", "float", "float", "Scalar", "Scalar"])",
                              R"(["", "", "", "1", "1"])", "[[1], [8, 1], [1, 8], [], []]"}},
                            round_peaks());
  const Json json = to_json(plan);
  EXPECT_EQ(json["sites"][0]["flags"]["HAS_BIAS"], 1);
  EXPECT_EQ(json["sites"][0]["flags"]["TRANS_B"], 1);
  const Result<Plan> again = plan_from_json(json, "plan.json", families());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
  EXPECT_EQ(again->sites[0].problem, plan.sites[0].problem);
}

TEST(Plan, TextsAreNeverRecordedSoTheFirstThatFitsIsAssumedAndKept) {
  const SampleOp gelu{"aten::gelu", "[[6, 16], []]", R"(["float", ""])", R"(["", ""])"};
  const Plan plan = plan_of({linear("[[6, 8], [16, 8], []]"), gelu});
  EXPECT_EQ(plan.sites[0].problem.flags.at("ACT"), 3);
  EXPECT_THAT(plan.sites[0].assumed, ElementsAre("'none' of aten::gelu"));
  EXPECT_EQ(plan_from_json(stored_json(plan), "plan.json", families())->sites[0].assumed,
            plan.sites[0].assumed);
}

TEST(Plan, AStoredPlanThatDoesNotFitTheFamiliesIsRefused) {
  Json json = to_json(plan_of({linear("[[6, 8], [16, 8], []]")}));
  json["sites"][0]["op"] = "nothing";
  EXPECT_THAT(plan_from_json(json, "plan.json", families()).error().message,
              HasSubstr("no op family `nothing`"));
  json["sites"][0]["op"] = "matmul";
  json["sites"][0]["flags"]["HAS_MASK"] = 1;
  EXPECT_THAT(plan_from_json(json, "plan.json", families()).error().message, HasSubstr("HAS_MASK"));
}

TEST(Extract, MakesATargetWithNeighboursOfASite) {
  const Plan plan = plan_of({linear("[[64, 32], [16, 32], []]")});
  const Result<Extraction> extraction = extract(plan.sites[0], families(), DeviceInfo{});
  ASSERT_TRUE(extraction) << extraction.error().message;
  const std::vector<TargetProblem>& problems = extraction->target.problems;
  ASSERT_THAT(problems, SizeIs(4));
  EXPECT_EQ(problems[0].problem, plan.sites[0].problem);
  EXPECT_EQ(problems[1].problem.label(), "BATCH=1 K=16 M=32 N=8 TRANS_B=1 f32");
  EXPECT_EQ(problems[2].problem.label(), "BATCH=1 K=32 M=128 N=16 TRANS_B=1 f32");
  EXPECT_EQ(problems[3].problem.label(), "BATCH=1 K=31 M=63 N=15 TRANS_B=1 f32");
  EXPECT_EQ(problems[3].role, Role::kSweep);
  EXPECT_FALSE(extraction->kernel_text.empty());
}

TEST(Extract, PrefersAKernelForTheArchitectureWhereItsNeedsHold) {
  DeviceInfo hopper;
  hopper.kind = "cuda";
  hopper.arch = "sm_90a";
  hopper.dynamic_shared_bytes = 227 * 1024;
  hopper.clusters = hopper.tensor_maps = true;
  const auto kernel_for = [](const DeviceInfo& device, std::int64_t terms) {
    PlanSite site = plan_of({linear("[[64, 32], [16, 32], []]")}).sites[0];
    site.problem.dtype = DType::kBF16;
    site.problem.dims["K"] = terms;
    return extract(site, families(), device)->kernel_name;
  };
  EXPECT_EQ(kernel_for(hopper, 32), "matmul/kernels/wgmma.cu");
  EXPECT_EQ(kernel_for(hopper, 31), "matmul/kernels/mma.cu");
  EXPECT_EQ(kernel_for(DeviceInfo{}, 32), "matmul/kernels/mma.cu");
}

}  // namespace
}  // namespace ak::plan
