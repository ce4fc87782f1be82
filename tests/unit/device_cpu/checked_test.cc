// The checked build: what is found, with line and thread, and what honest kernels do without being accused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cpu_fixture.h"

namespace ak::cpu {
namespace {

using device::Access;
using device::BufferRef;
using device::Fault;
using device::Guard;
using testing::AllOf;
using testing::HasSubstr;

// `s` is the block's static shared memory as floats, `t` the thread.
constexpr char kHead[] =
    "#define s ((float*)shared_memory)\n#define t ((int)threadIdx.x)\n#line 1 \"kernel.cu\"\n";

class CheckedTest : public test::CpuFixture {
 protected:
  void SetUp() override {
    CpuFixture::SetUp();
    if (IsSkipped()) return;
    if (!device_->info().checked_build) GTEST_SKIP() << "AddressSanitizer builds have no checked kernels";
    out_ = buffer(4096);
    in_ = buffer(1024, Access::kReadOnly);
  }
  /// Runs `static void k(float* out, const float* in) { body }` with one block a grid entry.
  std::optional<Fault> check(const std::string& body, std::uint32_t block = 64, std::uint32_t grid = 1) {
    const auto module = load(kHead + ("static void k(float* out, const float* in) {\n" + body + "\n}"),
                             {{"k", {"float*", "const float*"}}}, device::Trust::kCandidate, Build::kChecked);
    device::Launch step = launch(module, grid, block, {BufferRef{out_}, BufferRef{in_}});
    step.shared_bytes = 256;
    return run({step});
  }
  device::BufferId out_{}, in_{};
};

constexpr char kReduce[] = R"(s[t] = in[t];
ak_rt_barrier();
for (int d = 32; d > 0; d /= 2) {
  if (t < d) s[t] += s[t + d];
  BARRIER
}
if (t == 0) out[0] = s[0];)";

std::string reduce(const std::string& barrier) {
  std::string text = kReduce;
  return text.replace(text.find("BARRIER"), 7, barrier);
}

TEST_F(CheckedTest, AnHonestReductionIsAccepted) {
  const auto fault = check(reduce("ak_rt_barrier();"), 64, 5);
  EXPECT_FALSE(fault) << fault->message;
}

TEST_F(CheckedTest, AMissingBarrierInAReductionIsARaceWithBothLines) {
  write(in_, std::vector<float>(256, 1.f));
  const auto fault = check(reduce(""));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kRace);
  EXPECT_EQ(fault->check, "checked.race");
  EXPECT_THAT(fault->message,
              AllOf(HasSubstr("race: thread ("), HasSubstr("kernel.cu:5"), HasSubstr("static shared")));
}

TEST_F(CheckedTest, WritesOfDifferentValuesToOneWordAreARace) {
  const auto fault = check("s[0] = (float)t;\nak_rt_barrier();\nout[t] = s[0];");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kRace);
  EXPECT_THAT(fault->message, HasSubstr("kernel.cu:2"));
}

TEST_F(CheckedTest, WritesOfTheSameValueToOneWordAreNone) {
  const auto fault = check("s[0] = 3.f;\nak_rt_barrier();\nout[t] = s[0];");
  EXPECT_FALSE(fault) << fault->message;
}

TEST_F(CheckedTest, ANeighbourReadWithoutABarrierIsARace) {
  const auto fault = check("s[t] = in[t];\nout[t] = s[t ^ 1];\n");
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->kind, testing::AnyOf(FailureKind::kRace, FailureKind::kUninitialised));
}

TEST_F(CheckedTest, AReadBeforeAWriteOfAnotherThreadIsARaceToo) {
  write(in_, std::vector<float>(256, 7.f));
  const auto fault = check("s[t] = 0.f;\nak_rt_barrier();\nfloat v = s[(t + 1) % 64];\ns[t] = in[t] + v;");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kRace);
  EXPECT_THAT(fault->message, AllOf(HasSubstr("kernel.cu:4"), HasSubstr("kernel.cu:5")));
}

TEST_F(CheckedTest, AWarpBarrierOrdersTheLanesOfAWarpAlone) {
  const std::string kernel = "s[t] = in[t];\nak_rt_warp_barrier(~0u);\nout[t] = s[t ^ LANE];";
  const auto with = [&](const char* lane) {
    std::string text = kernel;
    return check(text.replace(text.find("LANE"), 4, lane));
  };
  EXPECT_FALSE(with("1"));
  const auto fault = with("32");
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->kind, testing::AnyOf(FailureKind::kRace, FailureKind::kUninitialised));
}

TEST_F(CheckedTest, AShuffleOrdersTheLanesOfAWarp) {
  const auto fault =
      check("s[t] = in[t];\nuint64_t v[32];\nak_rt_warp_exchange(~0u, 1, v);\nout[t] = s[t ^ 3];", 32);
  EXPECT_FALSE(fault) << fault->message;
}

TEST_F(CheckedTest, AReadOfSharedMemoryThatNobodyWroteIsUninitialised) {
  const auto fault = check("if (t < 60) s[t] = in[t];\nak_rt_barrier();\nout[t] = s[t];");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kUninitialised);
  EXPECT_EQ(fault->check, "checked.uninit");
  EXPECT_THAT(fault->message,
              AllOf(HasSubstr("thread (6"), HasSubstr("at byte 2"), HasSubstr("kernel.cu:4")));
}

TEST_F(CheckedTest, WhatAnEarlierBlockLeftIsUninitialised) {
  const auto fault = check("if (blockIdx.x < 2) s[t] = 1.f;\nak_rt_barrier();\nout[t] = s[t];", 8, 40);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kUninitialised);
}

TEST_F(CheckedTest, DynamicSharedMemoryIsCheckedToItsEnd) {
  const auto fault =
      check("float* d = (float*)ak_rt_dynamic_shared();\nif (t < 63) d[t] = 1;\nelse d[t + 1] = 2;");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kOutOfBounds);
  EXPECT_EQ(fault->check, "checked.bounds");
  EXPECT_THAT(fault->message, AllOf(HasSubstr("thread (63,0,0)"), HasSubstr("writes 4 bytes"),
                                    HasSubstr("0 bytes past the end of dynamic shared memory (256 bytes)"),
                                    HasSubstr("kernel.cu:4")));
}

TEST_F(CheckedTest, AnOverrunOfABufferIsFoundInsideItsRedZone) {
  const auto fault = check("out[t + 1000] = in[0];");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, "checked.bounds");
  EXPECT_THAT(fault->message,
              AllOf(HasSubstr("thread (24,0,0)"),
                    HasSubstr("0 bytes past the end of argument 0 (4096 bytes)"), HasSubstr("kernel.cu:2")));
}

TEST_F(CheckedTest, AnAccessAcrossTheEndOfABufferIsFound) {
  const auto fault = check("double* p = (double*)(out + 1023); *p = 1;", 1);
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->message, HasSubstr("writes 8 bytes across the end of argument 0"));
}

TEST_F(CheckedTest, AWriteToAnInputNamesTheLine) {
  const auto fault = check("((float*)in)[t] = 1;");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, "guard.input");
  EXPECT_THAT(fault->message, AllOf(HasSubstr("argument 1"), HasSubstr("kernel.cu:2")));
}

TEST_F(CheckedTest, AnIndexBeyondALocalArrayNamesArrayAndIndex) {
  const auto fault = check("float local[4] = {1, 2, 3, 4}; out[t] = local[t];", 8);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kOutOfBounds);
  EXPECT_THAT(fault->message, AllOf(HasSubstr("index 4 of 'float [4]'"), HasSubstr("kernel.cu:2")));
}

TEST_F(CheckedTest, LocalArraysAndConstantTablesMayBeTouched) {
  const auto fault = check(
      "static const float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\nfloat local[8];\nfor (int i = 0; i < 8; ++i)"
      " local[i] = table[(i + t) % 8];\nout[t] = local[t % 8];");
  EXPECT_FALSE(fault) << fault->message;
}

TEST_F(CheckedTest, DifferentBarriersInOneBlockAreDivergent) {
  const auto fault =
      check("if (t < 32) {\n  ak_rt_barrier();\n} else {\n  ak_rt_barrier();\n  out[t] = 1;\n}");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kDivergentBarrier);
  EXPECT_EQ(fault->check, "checked.barrier");
  EXPECT_THAT(fault->message,
              AllOf(HasSubstr("thread (32,0,0)"), HasSubstr("kernel.cu:5"), HasSubstr("kernel.cu:3")));
}

TEST_F(CheckedTest, ABarrierAfterAnEarlyReturnIsDivergent) {
  const auto fault = check("if (t >= 50) return;\nak_rt_barrier();\nout[t] = 1;");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kDivergentBarrier);
  EXPECT_THAT(fault->message, HasSubstr("has returned"));
}

TEST_F(CheckedTest, ABarrierInALoopWithDifferentTripCountsIsDivergent) {
  const auto fault = check("for (int i = 0; i < 1 + t % 2; ++i) ak_rt_barrier();\nout[t] = 1;");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kDivergentBarrier);
}

TEST_F(CheckedTest, AtomicsNeverRace) {
  const auto fault = check(
      "int* count = (int*)shared_memory;\nif (t == 0) *count = 0;\nak_rt_barrier();\n"
      "ak_rt_atomic(count, 4, 1); [](int* p) __attribute__((no_sanitize(\"kernel-address\"))) "
      "{ __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); }(count);\nak_rt_barrier();\nout[t] = (float)*count;");
  EXPECT_FALSE(fault) << fault->message;
  EXPECT_EQ(read<float>(out_, 64)[63], 64.f);
}

TEST_F(CheckedTest, AnAtomicOutsideEveryBufferIsOutOfBounds) {
  const auto fault = check("ak_rt_atomic(out + 1024 + t, 4, 1);");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->check, "checked.bounds");
}

TEST_F(CheckedTest, ALockThatBothThreadsTakeOrdersPlainAccesses) {
  const auto fault = check(
      "int* lock = (int*)shared_memory;\nfloat* sum = s + 1;\nif (t == 0) { *lock = 0; *sum = 0; "
      "}\nak_rt_barrier();\n"
      "ak_rt_atomic(lock, 4, 1);\n*sum = *sum + 1;\nak_rt_atomic(lock, 4, 1);\nak_rt_barrier();\nout[t] = "
      "*sum;");
  EXPECT_FALSE(fault) << fault->message;
  EXPECT_EQ(read<float>(out_, 1)[0], 64.f);
}

TEST_F(CheckedTest, BlocksOfACooperativeLaunchHaveShadowsOfTheirOwn) {
  const auto module = load(std::string(kHead) +
                               "static void k(float* out) {\ns[t] = 1.f;\nak_rt_grid_barrier();\n"
                               "out[blockIdx.x * 8 + t] = s[7 - t];\nak_rt_grid_barrier();\n}",
                           {{"k", {"float*"}}}, device::Trust::kCandidate, Build::kChecked);
  device::Launch step = launch(module, 8, 8, {BufferRef{out_}});
  step.cooperative = true;
  const auto fault = run({step});
  EXPECT_FALSE(fault) << fault->message;
  EXPECT_EQ(read<float>(out_, 64), std::vector<float>(64, 1.f));
}

}  // namespace
}  // namespace ak::cpu
