#include <gtest/gtest.h>

#include <set>

#include "autokernel/core/binary.h"
#include "autokernel/core/device_info.h"
#include "autokernel/core/dtype.h"
#include "autokernel/core/experiment.h"
#include "autokernel/core/failure.h"
#include "autokernel/core/problem.h"
#include "autokernel/core/verdict.h"

namespace ak {
namespace {

template <class E>
void expect_names_to_return(E last, std::optional<E> (*from_name)(std::string_view)) {
  std::set<std::string_view> seen;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const E value = static_cast<E>(i);
    EXPECT_TRUE(seen.insert(name(value)).second) << name(value);
    EXPECT_EQ(from_name(name(value)), value) << name(value);
  }
  EXPECT_EQ(from_name(""), std::nullopt);
  EXPECT_EQ(from_name("no such name"), std::nullopt);
}

TEST(Names, EveryEnumerationReturnsFromItsNames) {
  expect_names_to_return(DType::kI64, dtype_from_name);
  expect_names_to_return(FailureKind::kInfrastructure, failure_kind_from_name);
  expect_names_to_return(Stage::kPlausibility, stage_from_name);
  expect_names_to_return(Decision::kStart, decision_from_name);
  expect_names_to_return(Build::kLines, build_from_name);
  expect_names_to_return(Role::kSweep, role_from_name);
  expect_names_to_return(CacheState::kWarm, cache_state_from_name);
}

TEST(Names, AreSpelledAsTheDocumentsSpellThem) {
  EXPECT_EQ(name(FailureKind::kInvalidConfig), "invalid_config");
  EXPECT_EQ(name(FailureKind::kDivergentBarrier), "divergent_barrier");
  EXPECT_EQ(name(FailureKind::kOutOfBounds), "out_of_bounds");
  EXPECT_EQ(name(FailureKind::kCrash), "crash");
  EXPECT_EQ(name(FailureKind::kOutOfMemory), "out_of_memory");
  EXPECT_EQ(name(Stage::kShapeSweep), "shape_sweep");
  EXPECT_EQ(name(Stage::kEdgeCases), "edge_cases");
  EXPECT_EQ(name(Stage::kIntegrity), "integrity");
}

TEST(DeviceNames, ChooseADeviceByKindAndNumber) {
  EXPECT_EQ(parse_device_name("auto")->kind, "auto");
  EXPECT_EQ(parse_device_name("cpu")->kind, "cpu");
  EXPECT_EQ(parse_device_name("cuda")->ordinal, 0);
  EXPECT_EQ(parse_device_name("cuda:12")->kind, "cuda");
  EXPECT_EQ(parse_device_name("cuda:12")->ordinal, 12);
  for (const char* name :
       {"", "foo", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda1", "cpu:0", "cuda:99999999999"})
    EXPECT_FALSE(parse_device_name(name)) << name;
}

TEST(CudaArchitectures, HaveANumber) {
  EXPECT_EQ(cuda_arch_number("sm_80"), 80);
  EXPECT_EQ(cuda_arch_number("sm_90a"), 90);
  EXPECT_EQ(cuda_arch_number("sm_100f"), 100);
  for (const char* arch : {"", "cpu", "sm_", "sm_9", "sm_9x", "sm_90ab", "sm_1000", "sm_-9", "compute_90"})
    EXPECT_FALSE(cuda_arch_number(arch)) << arch;
}

TEST(Objectives, SayWhatTheirTimesAreOf) {
  Target target;
  target.problems = {{.id = "p0", .problem = {}, .sites = {}}};
  EXPECT_EQ(objective_scope(target), "");
  target.problems[0].calls = 8;
  target.problems.push_back({.id = "half", .problem = {}, .sites = {}, .role = Role::kSweep});
  EXPECT_EQ(objective_scope(target), "all 8 calls");
  target.problems[1].role = Role::kPrimary;
  EXPECT_EQ(objective_scope(target), "all calls of 2 problems");
}

TEST(DTypes, HaveTheSizesAndRoundoffsOfTheirFormats) {
  EXPECT_EQ(size_bytes(DType::kF32), 4u);
  EXPECT_EQ(size_bytes(DType::kBF16), 2u);
  EXPECT_EQ(size_bytes(DType::kI64), 8u);
  EXPECT_EQ(unit_roundoff(DType::kF32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(DType::kF16), 0x1p-11);
  EXPECT_EQ(unit_roundoff(DType::kBF16), 0x1p-8);
  EXPECT_EQ(unit_roundoff(DType::kF64), 0x1p-53);
  EXPECT_EQ(unit_roundoff(DType::kI32), 0.0);
}

}  // namespace
}  // namespace ak
