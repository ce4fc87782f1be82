// CUDA C++ from text to result, through the compiler, a jail and the checks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "autokernel/base/file.h"
#include "autokernel/device/cpu/cpu_compiler.h"
#include "autokernel/embed/device_headers.h"
#include "support/cpu_fixture.h"

namespace ak::cpu {
namespace {

using device::Access;
using device::BufferRef;
using device::Fault;
using testing::AllOf;
using testing::HasSubstr;

class DeviceKernelsTest : public test::CpuFixture {
 protected:
  void SetUp() override {
    CpuFixture::SetUp();
    if (IsSkipped()) return;
    auto folder = TempDir::create("ak-device-kernels");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    CpuCompilerOptions options;
    options.cache = folder_->path();
    const auto headers = embed::device_headers();
    options.device_headers.assign(headers.begin(), headers.end());
    auto compiler = CpuCompiler::create(options);
    ASSERT_TRUE(compiler) << compiler.error().message;
    compiler_ = std::move(*compiler);
  }
  device::ModuleId compile(const std::string& text, Build build = Build::kTimed) {
    Source source;
    source.name = "kernels/softmax.cu";
    source.text = text;
    source.entries = {"k"};
    source.arch = "cpu";
    source.build = build;
    auto outcome = compiler_->compile(source);
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(outcome->failure) << outcome->failure->message;
    auto id = device_->load(*outcome->binary, device::Trust::kCandidate);
    EXPECT_TRUE(id) << id.error().message;
    return *id;
  }
  std::optional<Fault> checked(const std::string& body, std::uint32_t block = 64) {
    if (!device_->info().checked_build) return std::nullopt;
    const auto module =
        compile("__global__ void k(float* out, const float* in, int n) {\n" + body + "\n}", Build::kChecked);
    const auto out = buffer(1024), in = buffer(1024, Access::kReadOnly);
    write(in, std::vector<float>(256, 1.5f));
    return run({launch(module, 2, block, {BufferRef{out}, BufferRef{in}, 64})});
  }
  void require_checks() {
    if (!device_->info().checked_build) GTEST_SKIP() << "AddressSanitizer builds have no checked kernels";
  }
  std::optional<TempDir> folder_;
  std::unique_ptr<CpuCompiler> compiler_;
};

constexpr char kSoftmax[] = R"(
__device__ float warp_max(float v) {
  for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}
__device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  return __shfl_sync(0xffffffffu, v, 0);
}
__global__ void k(float* y, const float* x, int columns) {
  __shared__ float partial[32];
  __shared__ float total;
  extern __shared__ float row[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const float* in = x + (size_t)blockIdx.x * columns;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    row[i] = in[i];
    m = fmaxf(m, row[i]);
  }
  m = warp_max(m);
  if (lane == 0) partial[warp] = m;
  __syncthreads();
  m = partial[0];
  for (int w = 1; w < warps; ++w) m = fmaxf(m, partial[w]);
  __syncthreads();
  float s = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) s += expf(row[i] - m);
  s = warp_sum(s);
  if (lane == 0) partial[warp] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    total = 0;
    for (int w = 0; w < warps; ++w) total += partial[w];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[(size_t)blockIdx.x * columns + i] = expf(row[i] - m) / total;
})";

TEST_F(DeviceKernelsTest, ASoftmaxWithShufflesBarriersAndBothKindsOfSharedMemoryIsRightInEveryBuild) {
  constexpr int kRows = 9, kColumns = 301;
  std::vector<float> x(kRows * kColumns);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 3;
  for (const Build build : {Build::kTimed, Build::kLines, Build::kChecked}) {
    if (build == Build::kChecked && !device_->info().checked_build) continue;
    const auto module = compile(kSoftmax, build);
    const auto in = buffer(x.size() * 4, Access::kReadOnly), out = buffer(x.size() * 4);
    write(in, x);
    device::Launch step = launch(module, kRows, 128, {BufferRef{out}, BufferRef{in}, kColumns});
    step.shared_bytes = kColumns * 4;
    const auto fault = run({step});
    ASSERT_FALSE(fault) << fault->message;
    const auto y = read<float>(out, x.size());
    for (int r = 0; r < kRows; ++r) {
      double sum = 0;
      for (int c = 0; c < kColumns; ++c) sum += std::exp(static_cast<double>(x[r * kColumns + c]));
      for (int c = 0; c < kColumns; ++c) {
        ASSERT_NEAR(y[r * kColumns + c], std::exp(static_cast<double>(x[r * kColumns + c])) / sum, 1e-6);
      }
    }
  }
}

TEST_F(DeviceKernelsTest, AtomicsOfAllBlocksAddUp) {
  for (const Build build : {Build::kTimed, Build::kChecked}) {
    if (build == Build::kChecked && !device_->info().checked_build) continue;
    const auto module = compile(
        "__global__ void k(int* sum) {\n  __shared__ int mine;\n  if (threadIdx.x == 0) mine = 0;\n"
        "  __syncthreads();\n  atomicAdd(&mine, 1);\n  __syncthreads();\n"
        "  if (threadIdx.x == 0) atomicAdd(sum, mine);\n}",
        build);
    const auto sum = buffer(4);
    write(sum, std::vector<int>{0});
    const auto fault = run({launch(module, 50, 96, {BufferRef{sum}})});
    ASSERT_FALSE(fault) << fault->message;
    EXPECT_EQ(read<int>(sum, 1)[0], 4800);
  }
}

TEST_F(DeviceKernelsTest, AGridBarrierOfCooperativeGroupsJoinsAllBlocks) {
  const auto module = compile(
      "#include <cooperative_groups.h>\n"
      "__global__ void k(int* data) {\n  data[blockIdx.x] = blockIdx.x + 1;\n"
      "  cooperative_groups::this_grid().sync();\n  int sum = 0;\n"
      "  for (int i = 0; i < gridDim.x; ++i) sum += data[i];\n  data[gridDim.x + blockIdx.x] = sum;\n}");
  const auto data = buffer(80);
  device::Launch step = launch(module, 10, 1, {BufferRef{data}});
  step.cooperative = true;
  const auto fault = run({step});
  ASSERT_FALSE(fault) << fault->message;
  EXPECT_EQ(read<int>(data, 20)[19], 55);
}

TEST_F(DeviceKernelsTest, AVolatileFlagIsSeenBySpinningThreads) {
  const auto module = compile(
      "__global__ void k(volatile int* flag, int* out) {\n"
      "  if (threadIdx.x == 0) { while (*flag == 0) { } *out = 1; } else { *flag = 1; }\n}");
  const auto flag = buffer(4), out = buffer(4);
  write(flag, std::vector<int>{0});
  const auto fault = run({launch(module, 1, 2, {BufferRef{flag}, BufferRef{out}})});
  ASSERT_FALSE(fault) << fault->message;
  EXPECT_EQ(read<int>(out, 1)[0], 1);
}

TEST_F(DeviceKernelsTest, ATrapIsACrashAtItsBlock) {
  const auto module = compile("__global__ void k() { if (blockIdx.x == 3) __trap(); }");
  const auto fault = run({launch(module, 5, 1, {})});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kCrash);
  EXPECT_THAT(fault->message, HasSubstr("block (3,0,0)"));
}

TEST_F(DeviceKernelsTest, ARaceIsReportedAtBothLinesOfTheKernelFile) {
  require_checks();
  const auto fault = checked(
      "  __shared__ float s[64];\n  const int t = threadIdx.x;\n  s[t] = in[t];\n  __syncthreads();\n"
      "  for (int d = 32; d > 0; d /= 2)\n    if (t < d) s[t] += s[t + d];\n  if (t == 0) out[blockIdx.x] = "
      "s[0];");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kRace);
  EXPECT_THAT(fault->message, HasSubstr("softmax.cu:7"));
}

TEST_F(DeviceKernelsTest, AScalarSharedVariableThatOneThreadWritesIsInitialised) {
  require_checks();
  const auto fault = checked(
      "  __shared__ float first;\n  __shared__ float s[2];\n  if (threadIdx.x == 0) { first = in[0]; s[1] = "
      "2; }\n"
      "  __syncthreads();\n  out[threadIdx.x] = first + s[1];");
  EXPECT_FALSE(fault) << fault->message;
}

TEST_F(DeviceKernelsTest, AScalarSharedVariableWithoutABarrierIsARaceOrUninitialised) {
  require_checks();
  const auto fault = checked(
      "  __shared__ float first;\n  if (threadIdx.x == 9) first = in[0];\n"
      "  out[threadIdx.x] = first;");
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->kind, testing::AnyOf(FailureKind::kRace, FailureKind::kUninitialised));
  EXPECT_THAT(fault->message, HasSubstr("softmax.cu:4"));
}

TEST_F(DeviceKernelsTest, AnOverrunOfAGlobalArrayIsReportedAtItsLine) {
  require_checks();
  const auto fault = checked("  int i = blockIdx.x * 200 + threadIdx.x;\n  out[i] = in[threadIdx.x];");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kOutOfBounds);
  EXPECT_THAT(fault->message, AllOf(HasSubstr("thread (56,0,0) of block (1,0,0) writes 4 bytes"),
                                    HasSubstr("argument 0 (1024 bytes)"), HasSubstr("softmax.cu:3")));
}

TEST_F(DeviceKernelsTest, AnIndexBeyondAStaticSharedArrayIsOutOfBounds) {
  require_checks();
  const auto fault =
      checked("  __shared__ float s[60];\n  s[threadIdx.x] = 1;\n  __syncthreads();\n  out[0] = s[0];");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kOutOfBounds);
  EXPECT_THAT(fault->message, HasSubstr("softmax.cu:3"));
}

TEST_F(DeviceKernelsTest, ADivergentBarrierIsReportedAtItsLine) {
  require_checks();
  const auto fault = checked("  if (threadIdx.x < 40) {\n    __syncthreads();\n    out[0] = 1;\n  }");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FailureKind::kDivergentBarrier);
  EXPECT_THAT(fault->message, HasSubstr("softmax.cu:3"));
}

// The operand of 128 rows and 64 terms lies in the tile as TMA leaves it; a matrix descriptor is read as the
// PTX ISA says. Instructions see addresses, whose bits 4 to 6 the swizzle changes by bits 7 to 9.
constexpr char kMatrixTiles[] = R"(
#include "autokernel/device/mma.cuh"
#include "autokernel/device/wgmma.cuh"

__device__ int misread(const unsigned short* tile, bool terms_innermost) {
  const unsigned base = 5 * 1024;
  int wrong = 0;
  for (int half = 0; half < 2; ++half) {
    for (int slice = 0; slice < 4; ++slice) {
      const unsigned long long bits =
          ak::WgmmaTile::describe(base, 64 * 128).at(half * 8192 + slice * (terms_innermost ? 32 : 2048)).bits;
      const unsigned start = (bits & 0x3fff) << 4, block = (bits >> 16 & 0x3fff) << 4, group = (bits >> 32 & 0x3fff) << 4;
      if (bits >> 49 != 1u << 13) ++wrong;
      for (int row = 0; row < 64; ++row) {
        for (int term = 0; term < 16; ++term) {
          const unsigned at = terms_innermost
                                  ? start + row / 8 * group + row % 8 * 128 + term * 2
                                  : start + row / 64 * block + term / 8 * group + term % 8 * 128 + row % 64 * 2;
          const unsigned swizzled = (at ^ (at >> 3 & 0x70)) - base;
          if (tile[swizzled / 2] != (half * 64 + row) * 64 + slice * 16 + term) ++wrong;
        }
      }
    }
  }
  return wrong;
}

__global__ void k(int* wrong) {
  __shared__ unsigned short tile[128 * 64];
  for (int kind = 0; kind < 2; ++kind) {
    for (int row = 0; row < 128; ++row) {
      for (int term = 0; term < 64; ++term) {
        const int at = kind == 0 ? ak::swizzled<64>(row, term) + term % 8
                                 : row / 64 * 4096 + ak::swizzled<64>(term, row % 64) + row % 8;
        tile[at] = row * 64 + term;
      }
    }
    wrong[kind] = misread(tile, kind == 0);
  }
})";

TEST_F(DeviceKernelsTest, MatrixDescriptorsNameTheElementsThatTmaBrought) {
  const auto module = compile(kMatrixTiles);
  const auto wrong = buffer(8);
  write(wrong, std::vector<int>{-1, -1});
  const auto fault = run({launch(module, 1, 1, {BufferRef{wrong}})});
  ASSERT_FALSE(fault) << fault->message;
  EXPECT_EQ(read<int>(wrong, 2), (std::vector<int>{0, 0}));
}

TEST_F(DeviceKernelsTest, MatricesOfAWarpComeBackFromSharedMemory) {
  const auto module = compile(
      "#include \"autokernel/device/mma.cuh\"\n"
      "__global__ void k(int* wrong) {\n  __shared__ __align__(16) unsigned rows[32][4];\n"
      "  const int lane = threadIdx.x;\n  const unsigned from[4] = {lane, 100 + lane, 200 + lane, 300 + "
      "lane};\n"
      "  ak::store_matrices(rows[lane], from);\n  __syncthreads();\n"
      "  unsigned to[4];\n  ak::load_matrices(to, rows[lane]);\n"
      "  for (int i = 0; i < 4; ++i) {\n"
      "    if (to[i] != from[i] || rows[8 * i + lane / 4][lane % 4] != from[i]) atomicAdd(wrong, 1);\n  "
      "}\n}");
  const auto wrong = buffer(4);
  write(wrong, std::vector<int>{0});
  const auto fault = run({launch(module, 1, 32, {BufferRef{wrong}})});
  ASSERT_FALSE(fault) << fault->message;
  EXPECT_EQ(read<int>(wrong, 1)[0], 0);
}

}  // namespace
}  // namespace ak::cpu
