// CUDA C++ from the text to the result: the compiler half and the runtime half together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autokernel/base/file.h"
#include "autokernel/device/cpu/cpu_compiler.h"
#include "support/cpu_fixture.h"

namespace ak::cpu {
namespace {

using device::Access;
using device::Arg;
using device::BufferRef;
using device::Fault;
using testing::HasSubstr;

class KernelsTest : public test::CpuFixture {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TempDir>(std::move(*TempDir::create("ak-kernels")));
    CpuCompilerOptions options;
    options.cache = folder_->path();
    auto made = CpuCompiler::create(options);
    if (made) compiler_ = std::move(*made);
  }
  static void TearDownTestSuite() {
    compiler_.reset();
    folder_.reset();
  }
  void SetUp() override {
    CpuFixture::SetUp();
    ASSERT_TRUE(compiler_) << "no compiler";
    out_ = buffer(4096 * 4);
    in_ = buffer(4096 * 4, Access::kReadOnly);
    std::vector<float> values(4096);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) - 6;
    write(in_, values);
    write(out_, std::vector<float>(4096, 0.0f));
  }
  device::ModuleId compile(std::string_view text, Build build) {
    Source source;
    source.name = "kernel.cu";
    source.text = text;
    source.entries = {"k"};
    source.build = build;
    auto outcome = compiler_->compile(source);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_TRUE(outcome->binary) << outcome->failure->message;
    auto id = device_->load(*outcome->binary, device::Trust::kCandidate);
    EXPECT_TRUE(id) << id.error().message;
    return *id;
  }
  /// Runs `k(float* out, const float* in)`.
  std::optional<Fault> launch_kernel(std::string_view text, Build build, std::uint32_t grid = 1,
                                     std::uint32_t block = 64, bool cooperative = false) {
    device::Launch step = launch(compile(text, build), grid, block, {BufferRef{out_, 0}, BufferRef{in_, 0}});
    step.shared_bytes = 1024;
    step.cooperative = cooperative;
    return run({step});
  }
  std::optional<Fault> checked(std::string_view text, std::uint32_t grid = 1, std::uint32_t block = 64) {
    return launch_kernel(text, Build::kChecked, grid, block);
  }
  void expect_clean(std::string_view text, std::uint32_t grid = 1, std::uint32_t block = 64,
                    bool cooperative = false) {
    for (Build build : {Build::kTimed, Build::kChecked}) {
      if (build == Build::kChecked && !device_->info().checked_build) continue;
      const auto fault = launch_kernel(text, build, grid, block, cooperative);
      EXPECT_FALSE(fault) << (build == Build::kChecked ? "checked: " : "timed: ") << fault->message;
    }
  }

  inline static std::unique_ptr<TempDir> folder_;  ///< the cache, shared by the tests
  inline static std::unique_ptr<CpuCompiler> compiler_;
  device::BufferId out_{}, in_{};
};

constexpr std::string_view kBlockSum =
    "__device__ float warp_sum(float v) {\n"
    "  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);\n"
    "  return v;\n"
    "}\n"
    "__global__ void k(float* out, const float* in) {\n"
    "  __shared__ float partial[32];\n"
    "  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
    "  float v = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);\n"
    "  if (lane == 0) partial[warp] = v;\n"
    "  __syncthreads();\n"
    "  v = lane < blockDim.x / 32 ? partial[lane] : 0.0f;\n"
    "  v = warp_sum(v);\n"
    "  if (threadIdx.x == 0) out[blockIdx.x] = v;\n"
    "}\n";

TEST_F(KernelsTest, ABlockReductionBySharedMemoryAndShufflesIsRight) {
  expect_clean(kBlockSum, 8, 256);
  const auto sums = read<float>(out_, 8);
  const auto in = read<float>(in_, 4096);
  for (std::size_t b = 0; b < 8; ++b) {
    float wanted = 0;
    for (std::size_t i = 0; i < 256; ++i) wanted += in[b * 256 + i];
    EXPECT_EQ(sums[b], wanted);
  }
}

TEST_F(KernelsTest, DynamicSharedMemoryOfBothScopesIsOneBuffer) {
  expect_clean(
      "extern __shared__ float outer[];\n"
      "__global__ void k(float* out, const float* in) {\n"
      "  extern __shared__ float inner[];\n"
      "  outer[threadIdx.x] = in[threadIdx.x];\n"
      "  __syncthreads();\n"
      "  out[threadIdx.x] = inner[blockDim.x - 1 - threadIdx.x];\n"
      "}\n");
  EXPECT_EQ(read<float>(out_, 64)[0], read<float>(in_, 64)[63]);
}

TEST_F(KernelsTest, AtomicsOfManyBlocksAddUp) {
  expect_clean("__global__ void k(float* out, const float*) { atomicAdd(reinterpret_cast<int*>(out), 1); }",
               16, 128);
  const int runs = device_->info().checked_build ? 2 : 1;
  EXPECT_EQ(read<int>(out_, 1)[0], runs * 16 * 128);
}

TEST_F(KernelsTest, ASpinLockWithinABlockEnds) {
  expect_clean(
      "__global__ void k(float* out, const float*) {\n"
      "  __shared__ int lock;\n"
      "  if (threadIdx.x == 0) lock = 0;\n"
      "  __syncthreads();\n"
      "  while (atomicCAS(&lock, 0, 1) != 0) { }\n"
      "  __threadfence();\n"
      "  out[0] += 1;\n"
      "  __threadfence();\n"
      "  atomicExch(&lock, 0);\n"
      "}\n");
  EXPECT_EQ(read<float>(out_, 1)[0], device_->info().checked_build ? 128 : 64);
}

TEST_F(KernelsTest, SpinningOnAVolatileFlagEnds) {
  const auto fault = launch_kernel(
      "__global__ void k(float* out, const float*) {\n"
      "  volatile float* flag = out;\n"
      "  if (threadIdx.x == 40) flag[0] = 1;\n"
      "  while (flag[0] == 0) { }\n"
      "  out[1 + threadIdx.x] = threadIdx.x;\n"
      "}\n",
      Build::kTimed);
  EXPECT_FALSE(fault) << fault->message;
  EXPECT_EQ(read<float>(out_, 65)[64], 63);
}

TEST_F(KernelsTest, CooperativeBlocksMeetAtTheGridBarrier) {
  expect_clean(
      "#include <cooperative_groups.h>\n"
      "__global__ void k(float* out, const float* in) {\n"
      "  out[blockIdx.x * blockDim.x + threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];\n"
      "  __threadfence();\n"
      "  cooperative_groups::this_grid().sync();\n"
      "  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  out[n + i] = out[n - 1 - i];\n"
      "}\n",
      4, 64, true);
  EXPECT_EQ(read<float>(out_, 512)[256], read<float>(in_, 256)[255]);
}

TEST_F(KernelsTest, IndicesSurviveBarriersShufflesAndAtomics) {
  expect_clean(
      "__global__ void k(float* out, const float*) {\n"
      "  __shared__ int n;\n"
      "  if (threadIdx.x == 0 && threadIdx.y == 0) n = 0;\n"
      "  __syncthreads();\n"
      "  atomicAdd(&n, 1);\n"
      "  __syncwarp();\n"
      "  __syncthreads();\n"
      "  out[blockIdx.x * 64 + threadIdx.x] = n * 1000 + threadIdx.x + blockIdx.x * 100;\n"
      "}\n",
      3, 64);
  const auto out = read<float>(out_, 192);
  for (std::size_t i = 0; i < 192; ++i)
    EXPECT_EQ(out[i], 64000.0f + static_cast<float>(i % 64 + i / 64 * 100));
}

TEST_F(KernelsTest, AMissingBarrierIsARaceAtTheKernelsLine) {
  if (!device_->info().checked_build) GTEST_SKIP() << "no checked builds here";
  const auto fault = checked(
      "__global__ void k(float* out, const float* in) {\n"
      "  __shared__ float t[64];\n"
      "  t[threadIdx.x] = 0; __syncthreads(); t[threadIdx.x] = in[threadIdx.x];\n"
      "  out[threadIdx.x] = t[(threadIdx.x + 1) % 64];\n"
      "}\n");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kRace) << fault->message;
  EXPECT_THAT(fault->message, HasSubstr("kernel.cu:4"));
}

TEST_F(KernelsTest, ARaceOnASharedScalarIsSeen) {
  if (!device_->info().checked_build) GTEST_SKIP() << "no checked builds here";
  const auto fault = checked(
      "__shared__ float sum;\n"
      "__global__ void k(float* out, const float* in) {\n"
      "  if (threadIdx.x == 0) sum = in[0];\n"
      "  out[threadIdx.x] = sum;\n"
      "}\n");
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->kind == FailureKind::kRace || fault->kind == FailureKind::kUninitialised)
      << fault->message;
}

TEST_F(KernelsTest, ReadsOfUninitialisedSharedMemoryAreSeen) {
  if (!device_->info().checked_build) GTEST_SKIP() << "no checked builds here";
  const auto fault = checked(
      "__global__ void k(float* out, const float* in) {\n"
      "  __shared__ float t[65];\n"
      "  t[threadIdx.x] = in[threadIdx.x];\n"
      "  __syncthreads();\n"
      "  out[threadIdx.x] = t[threadIdx.x + 1];\n"
      "}\n");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kUninitialised) << fault->message;
  EXPECT_THAT(fault->message, HasSubstr("kernel.cu:5"));
}

TEST_F(KernelsTest, OverrunsOfSharedAndGlobalArraysAreSeen) {
  if (!device_->info().checked_build) GTEST_SKIP() << "no checked builds here";
  const auto shared = checked(
      "__global__ void k(float* out, const float* in) {\n"
      "  __shared__ float t[64];\n"
      "  t[threadIdx.x + 1] = in[threadIdx.x];\n"
      "}\n");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->kind, FailureKind::kOutOfBounds) << shared->message;
  EXPECT_THAT(shared->message, HasSubstr("kernel.cu:3"));
  const auto global =
      checked("__global__ void k(float* out, const float* in) {\n  out[0] = in[4096 + threadIdx.x];\n}\n");
  ASSERT_TRUE(global);
  EXPECT_EQ(global->kind, FailureKind::kOutOfBounds) << global->message;
  EXPECT_THAT(global->message, HasSubstr("kernel.cu:2"));
}

TEST_F(KernelsTest, DivergentBarriersAreSeen) {
  if (!device_->info().checked_build) GTEST_SKIP() << "no checked builds here";
  const auto fault = checked(
      "__global__ void k(float* out, const float* in) {\n"
      "  if (threadIdx.x < 32)\n"
      "    __syncthreads();\n"
      "  out[threadIdx.x] = in[0];\n"
      "}\n");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kDivergentBarrier) << fault->message;
  EXPECT_THAT(fault->message, HasSubstr("kernel.cu:3"));
}

TEST_F(KernelsTest, FailedAssertionsAndTrapsAreFaults) {
  const auto fault = launch_kernel(
      "#include <cassert>\n__global__ void k(float* out, const float* in) { assert(in[0] > 100); out[0] = 1; "
      "}",
      Build::kTimed);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash) << fault->message;
}

}  // namespace
}  // namespace ak::cpu
