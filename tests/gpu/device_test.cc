// The CUDA device by itself, on a GPU: everything that a front matter can declare of a launch, memory, and
// time. Skipped where no driver is at work.
#include <gtest/gtest.h>

#include "autokernel/device/cuda/cuda_device.h"
#include "autokernel/device/cuda/driver_api.h"
#include "autokernel/device/cuda/nvrtc_compiler.h"
#include "autokernel/embed/device_headers.h"

namespace ak::cuda {
namespace {

using device::Access;
using device::BufferRef;
using device::Launch;
using device::Step;
using device::Trust;

class GpuDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!driver_present()) GTEST_SKIP() << "no NVIDIA driver on this machine";
    auto location = find_nvrtc(NvrtcSearch::from_environment());
    if (!location) GTEST_SKIP() << location.error().message;
    NvrtcOptions options;
    options.location = *location;
    options.headers = embed::device_headers();
    auto compiler = NvrtcCompiler::create(std::move(options));
    ASSERT_TRUE(compiler) << compiler.error().message;
    compiler_ = std::make_unique<NvrtcCompiler>(std::move(*compiler));
    auto device = CudaDevice::create({.compiler = compiler_.get()});
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
  }

  /// A launch of `k`, the only entry of `text`.
  Launch launch_of(const std::string& text, std::vector<device::Arg> args) {
    Source source;
    source.name = "k.cu";
    source.text = text;
    source.entries = {"k"};
    source.arch = device_->info().arch;
    auto outcome = compiler_->compile(source);
    EXPECT_TRUE(outcome && outcome->binary)
        << (outcome ? outcome->failure->message : outcome.error().message);
    auto module = device_->load(*outcome->binary, Trust::kCandidate);
    EXPECT_TRUE(module) << module.error().message;
    Launch launch;
    launch.module = *module;
    launch.args = std::move(args);
    return launch;
  }

  BufferRef buffer(std::uint64_t bytes, Access access = Access::kReadWrite) {
    auto made = device_->allocate({.bytes = bytes, .access = access});
    EXPECT_TRUE(made) << made.error().message;
    return {*made, 0};
  }

  void run(const std::vector<Step>& steps) {
    auto outcome = device_->run(steps, std::chrono::seconds(5));
    ASSERT_TRUE(outcome) << outcome.error().message;
    ASSERT_FALSE(outcome->fault) << outcome->fault->message;
  }

  std::vector<int> ints(BufferRef at, std::size_t count) {
    std::vector<int> host(count, -1);
    auto read = device_->read(at, std::as_writable_bytes(std::span(host)));
    EXPECT_TRUE(read) << read.error().message;
    return host;
  }

  std::unique_ptr<NvrtcCompiler> compiler_;
  std::unique_ptr<CudaDevice> device_;
};

TEST_F(GpuDevice, LaunchesAKernelThatReadsAnInputAndWritesAnOutput) {
  const BufferRef x = buffer(256 * 4, Access::kReadOnly), y = buffer(256 * 4);
  std::vector<int> host(256);
  for (int i = 0; i < 256; ++i) host[i] = i;
  ASSERT_TRUE(device_->write(x, std::as_bytes(std::span(host))));
  Launch launch = launch_of(
      "extern \"C\" __global__ void k(const int* x, int* y, int add) { y[threadIdx.x] = x[threadIdx.x] + "
      "add; }",
      {x, y, std::int32_t{7}});
  launch.block = {256, 1, 1};
  run({launch});
  EXPECT_EQ(ints(y, 256)[200], 207);
  auto guards = device_->check_guards();
  ASSERT_TRUE(guards) << guards.error().message;
  EXPECT_FALSE(guards->violation) << *guards->violation;
}

TEST_F(GpuDevice, ADynamicSharedMemoryBeyond48KiBIsGiven) {
  const BufferRef y = buffer(4);
  Launch launch = launch_of(
      "extern __shared__ int s[];\nextern \"C\" __global__ void k(int* y, int last) { s[last] = 42; y[0] = "
      "s[last]; }",
      {y, static_cast<std::int32_t>(device_->info().dynamic_shared_bytes / 4 - 1)});
  launch.shared_bytes = device_->info().dynamic_shared_bytes;
  run({launch});
  EXPECT_EQ(ints(y, 1)[0], 42);
}

TEST_F(GpuDevice, AClusterIsLaunchedAsDeclared) {
  if (!device_->info().clusters) GTEST_SKIP() << device_->info().name << " has no clusters";
  const BufferRef y = buffer(4 * 4);
  Launch launch = launch_of(
      "extern \"C\" __global__ void k(int* y) { unsigned n; asm(\"mov.u32 %0, %%cluster_nctarank;\" : "
      "\"=r\"(n)); "
      "y[blockIdx.x] = n; }",
      {y});
  launch.grid = {4, 1, 1};
  launch.cluster = {2, 1, 1};
  run({launch});
  EXPECT_EQ(ints(y, 4), (std::vector<int>{2, 2, 2, 2}));
}

TEST_F(GpuDevice, AllBlocksOfACooperativeLaunchAreResident) {
  const auto blocks = static_cast<std::int32_t>(device_->info().multiprocessors);
  const BufferRef count = buffer(4), y = buffer(4);
  Launch launch = launch_of(
      "extern \"C\" __global__ void k(int* count, int* y, int blocks) { atomicAdd(count, 1);\n"
      "  while (*(volatile int*)count < blocks) { } if (blockIdx.x == 0) y[0] = *count; }",
      {count, y, blocks});
  launch.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
  launch.cooperative = true;
  run({device::Fill{count, 4, 0}, launch});
  EXPECT_EQ(ints(y, 1)[0], blocks);
}

TEST_F(GpuDevice, ACooperativeLaunchThatDoesNotFitIsAnInvalidConfig) {
  const BufferRef y = buffer(4);
  Launch launch = launch_of("extern \"C\" __global__ void k(int* y) { y[0] = 1; }", {y});
  launch.grid = {1u << 20, 1, 1};
  launch.block = {1024, 1, 1};
  launch.cooperative = true;
  auto outcome = device_->run(std::vector<Step>{launch}, std::chrono::seconds(5));
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->fault);
  EXPECT_EQ(outcome->fault->kind, FailureKind::kInvalidConfig) << outcome->fault->message;
  EXPECT_TRUE(device_->usable());
}

TEST_F(GpuDevice, ATensorMapBringsABoxIntoSharedMemory) {
  if (!device_->info().tensor_maps) GTEST_SKIP() << device_->info().name << " has no tensor maps";
  const BufferRef x = buffer(64 * 64 * 4, Access::kReadOnly), y = buffer(8 * 32 * 4);
  std::vector<int> host(64 * 64);
  for (int i = 0; i < 64 * 64; ++i) host[i] = i;
  ASSERT_TRUE(device_->write(x, std::as_bytes(std::span(host))));
  Launch launch = launch_of(
      "struct alignas(128) Map { char bytes[128]; };\n"
      "extern \"C\" __global__ void k(const __grid_constant__ Map map, int* y) {\n"
      "  __shared__ alignas(128) int tile[8 * 32]; __shared__ alignas(8) unsigned long long bar;\n"
      "  unsigned b = (unsigned)__cvta_generic_to_shared(&bar), t = "
      "(unsigned)__cvta_generic_to_shared(tile);\n"
      "  if (threadIdx.x == 0) {\n"
      "    asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" :: \"r\"(b));\n"
      "    asm volatile(\"fence.mbarrier_init.release.cluster;\");\n"
      "    asm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;\" :: \"r\"(b));\n"
      "    asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, "
      "%3}], [%4];\" :: \"r\"(t), \"l\"(&map), \"r\"(32), \"r\"(16), \"r\"(b) : \"memory\");\n"
      "  }\n  __syncthreads();\n"
      "  asm volatile(\"{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }\" :: "
      "\"r\"(b) : "
      "\"memory\");\n"
      "  for (int i = threadIdx.x; i < 256; i += 32) y[i] = tile[i];\n}",
      {device::TensorMap{x, DType::kI32, {64, 64}, {8, 32}, 0}, y});
  launch.block = {32, 1, 1};
  run({launch});
  const std::vector<int> tile = ints(y, 256);
  EXPECT_EQ(tile[0], 16 * 64 + 32);
  EXPECT_EQ(tile[255], 23 * 64 + 63);
}

TEST_F(GpuDevice, AWriteBeforeABufferIsSeenInItsRedZone) {
  const BufferRef y = buffer(64);
  run({launch_of("extern \"C\" __global__ void k(int* y) { y[-1] = 5; }", {y})});
  auto guards = device_->check_guards();
  ASSERT_TRUE(guards);
  ASSERT_TRUE(guards->violation);
  EXPECT_NE(guards->violation->find("before its start"), std::string::npos) << *guards->violation;
}

TEST_F(GpuDevice, MemoryThatDoesNotFitIsAnErrorWithNumbers) {
  auto made = device_->allocate({.bytes = device_->info().memory_bytes});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(made.error().message.find("MiB"), std::string::npos) << made.error().message;
  EXPECT_TRUE(device_->usable());
}

TEST_F(GpuDevice, TimesARoundWithItsClock) {
  const BufferRef y = buffer(4);
  Launch launch = launch_of(
      "extern \"C\" __global__ void k(int* y) { long long t = clock64(); while (clock64() - t < 200000) { } "
      "y[0] = 1; }",
      {y});
  device::Round round;
  round.before = {device::Scrub{device::Scrub::What::kSharedAndLocal},
                  device::Scrub{device::Scrub::What::kL2}};
  round.timed = {launch, launch};
  round.repeats = 2;
  const std::vector<device::Round> rounds(3, round);
  auto outcome = device_->time(rounds, {});
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_FALSE(outcome->fault) << outcome->fault->message;
  ASSERT_EQ(outcome->rounds.size(), 3u);
  for (const device::RoundTime& each : outcome->rounds) {
    const double expected_us = 200000 / each.clock_mhz;
    EXPECT_GT(each.clock_mhz, 200);
    EXPECT_NEAR(each.us, expected_us, 0.1 * expected_us + 3);
    EXPECT_GE(each.wall_us, 2 * each.us * 0.9);
  }
}

TEST_F(GpuDevice, AWriteToAnInputEndsTheContext) {
  const BufferRef x = buffer(64, Access::kReadOnly);
  Launch launch = launch_of("extern \"C\" __global__ void k(int* x) { x[0] = 5; }", {x});
  auto outcome = device_->run(std::vector<Step>{launch}, std::chrono::seconds(5));
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(outcome->fault);
  EXPECT_EQ(outcome->fault->kind, FailureKind::kOutOfBounds);
  EXPECT_FALSE(device_->usable());
}

}  // namespace
}  // namespace ak::cuda
