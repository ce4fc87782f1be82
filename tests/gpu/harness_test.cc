// The whole harness on a GPU, in this process: no workers, so that compute-sanitizer sees its kernels too.
// Sizes beyond 2^16 elements are left out, since one check is off: a sanitizer slows clocks. Skipped where no
// driver is at work.
#include "autokernel/harness/harness.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autokernel/base/clock.h"
#include "autokernel/device/cuda/cuda_device.h"
#include "autokernel/device/cuda/driver_api.h"
#include "autokernel/device/cuda/nvrtc_compiler.h"
#include "autokernel/embed/device_headers.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::harness {
namespace {

struct Shipped {
  const char* op;
  const char* kernel;
  const char* dims;
};

class GpuHarness : public ::testing::TestWithParam<Shipped> {
 protected:
  void SetUp() override {
    if (!cuda::driver_present()) GTEST_SKIP() << "no NVIDIA driver on this machine";
    auto location = cuda::find_nvrtc(cuda::NvrtcSearch::from_environment());
    if (!location) GTEST_SKIP() << location.error().message;
    cuda::NvrtcOptions options;
    options.location = *location;
    options.headers = embed::device_headers();
    auto compiler = cuda::NvrtcCompiler::create(std::move(options));
    ASSERT_TRUE(compiler) << compiler.error().message;
    compiler_ = std::make_unique<cuda::NvrtcCompiler>(std::move(*compiler));
    auto device = cuda::CudaDevice::create({.compiler = compiler_.get()});
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
    auto registry = op::Registry::create(op::embedded_families(), {});
    ASSERT_TRUE(registry) << registry.error().message;
    registry_ = std::make_unique<op::Registry>(std::move(*registry));
  }

  std::unique_ptr<cuda::NvrtcCompiler> compiler_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<op::Registry> registry_;
};

TEST_P(GpuHarness, AcceptsAShippedKernel) {
  const op::Family& family = **registry_->find(GetParam().op);
  auto size = op::parse_size(family, GetParam().dims);
  ASSERT_TRUE(size) << size.error().message;
  auto problem = op::make_problem(family, *size, DType::kF16);
  ASSERT_TRUE(problem) << problem.error().message;
  const auto shipped = std::find_if(family.kernels.begin(), family.kernels.end(),
                                    [](const auto& each) { return each.name.ends_with(GetParam().kernel); });
  ASSERT_NE(shipped, family.kernels.end());
  auto file = kernel::parse(shipped->text, shipped->name);
  ASSERT_TRUE(file) << file.error().message;
  if (!file->supports_arch(device_->info().arch)) GTEST_SKIP() << "not for " << device_->info().arch;
  Job job;
  job.target = {.id = "t", .op = family.name, .problems = {{.id = "p0", .problem = *problem}}};
  job.candidate = {file->name, file->text, file->defaults};
  job.depth = Depth::kFull;
  job.seed = 20240607;
  job.time_budget_s = 0.02;
  auto checks = CheckSet::without({"time.clock"});
  ASSERT_TRUE(checks);
  SystemClock clock;
  Harness harness(*device_, *compiler_, *registry_, *checks, clock);
  auto verdict = harness.judge(job);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verdict->passed) << (verdict->failure ? verdict->failure->message : "");
}

// wgmma.cu: either kind of shared memory for either operand, edges, and a row of c that is no whole number of
// chunks.
INSTANTIATE_TEST_SUITE_P(
    Families, GpuHarness,
    ::testing::Values(Shipped{"rmsnorm", "starter.cu", "M=8,N=128"},
                      Shipped{"softmax", "starter.cu", "ROWS=8,COLS=128"},
                      Shipped{"matmul", "starter.cu", "M=32,N=48,K=64"},
                      Shipped{"matmul", "wgmma.cu", "M=136,N=264,K=72"},
                      Shipped{"matmul", "wgmma.cu", "M=136,N=261,K=72,TRANS_A=1,TRANS_B=1,ACT=3,bias"},
                      Shipped{"flash_attention", "starter.cu", "HQ=2,HKV=2,LQ=32,LK=32,D=64"}),
    [](const auto& param) {
      const std::string_view kernel = param.param.kernel;
      return fmt::format("{}_{}_{}", param.param.op, kernel.substr(0, kernel.find('.')), param.index);
    });

}  // namespace
}  // namespace ak::harness
