// Every kernel file and reference that is shipped compiles for a GPU as well, although most tests run on the
// CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autokernel/base/sandbox.h"
#include "autokernel/device/cuda/nvrtc_compiler.h"
#include "autokernel/embed/device_headers.h"
#include "autokernel/embed/ops.h"
#include "autokernel/harness/reference.h"
#include "autokernel/harness/signature.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/launch.h"
#include "autokernel/op/op_family.h"

namespace ak::cuda {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ShippedKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    auto location = find_nvrtc(NvrtcSearch::from_environment());
    if (!location) GTEST_SKIP() << location.error().message;
    if (location->includes.empty()) GTEST_SKIP() << "no CUDA headers beside " << location->library;
    if (!sandbox_support().complete()) GTEST_SKIP() << "this kernel lacks " << sandbox_support().missing();
    NvrtcOptions options;
    options.location = *location;
    options.headers = embed::device_headers();
    auto compiler = NvrtcCompiler::create(std::move(options));
    ASSERT_TRUE(compiler.has_value()) << compiler.error().message;
    compiler_.emplace(std::move(*compiler));
    auto registry = op::Registry::create(embed::ops(), {});
    ASSERT_TRUE(registry.has_value()) << registry.error().message;
    registry_ = std::move(*registry);
  }

  /// What a GPU is as far as sources depend on it.
  static DeviceInfo gpu(const std::string& arch = "sm_90a") {
    DeviceInfo info;
    info.kind = "cuda";
    info.arch = arch;
    info.natural_block = 256;
    return info;
  }
  static Problem problem_of(const op::Family& family, DType dtype) {
    auto problem = op::make_problem(family, family.sizes.at("smoke").front(), dtype);
    EXPECT_TRUE(problem.has_value()) << problem.error().message;
    return std::move(*problem);
  }
  Binary compile(const Source& source) {
    const auto outcome = compiler_->compile(source);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    EXPECT_TRUE(outcome->binary.has_value()) << source.name << ": " << outcome->failure->message;
    return outcome->binary.value_or(Binary{});
  }
  /// A kernel's [defaults] on the family's first smoke problem.
  Binary compile(const op::Family& family, const op::KernelSource& kernel, DType dtype,
                 const DeviceInfo& device = gpu()) {
    const auto file = kernel::parse(kernel.text, kernel.name);
    EXPECT_TRUE(file.has_value()) << file.error().message;
    if (!file || (!file->dtypes.empty() && !file->supports(dtype))) return {};
    if (!file->supports_arch(device.arch)) return {};
    const auto source = kernel::make_source(*file, file->defaults, problem_of(family, dtype),
                                            harness::signature_of(family), device, Build::kTimed);
    EXPECT_TRUE(source.has_value()) << source.error().message;
    return compile(*source);
  }

  std::optional<NvrtcCompiler> compiler_;
  std::optional<op::Registry> registry_;
};

TEST_F(ShippedKernels, KernelFilesCompileForAGpuAndPassItsAudit) {
  for (const op::Family& family : registry_->families()) {
    for (const op::KernelSource& kernel : family.kernels) {
      for (const DType dtype : family.dtypes) {
        const Binary binary = compile(family, kernel, dtype);
        EXPECT_THAT(binary.facts.forbidden, IsEmpty()) << kernel.name;
        EXPECT_THAT(binary.facts.mutable_globals, IsEmpty()) << kernel.name;
      }
    }
  }
}

TEST_F(ShippedKernels, KernelFilesCompileForGpusThatWereNotMeasured) {
  for (const char* arch : {"sm_80", "sm_89", "sm_100a", "sm_120a"}) {
    std::size_t compiled = 0;
    for (const op::Family& family : registry_->families()) {
      for (const op::KernelSource& kernel : family.kernels) {
        compiled += compile(family, kernel, DType::kF16, gpu(arch)).format == "cubin";
      }
    }
    EXPECT_GE(compiled, registry_->families().size()) << arch;
  }
}

TEST_F(ShippedKernels, WgmmaTakesEitherLayoutOfEitherOperand) {
  const op::Family& family = **registry_->find("matmul");
  const auto kernel = std::find_if(family.kernels.begin(), family.kernels.end(),
                                   [](const auto& each) { return each.name.ends_with("wgmma.cu"); });
  ASSERT_NE(kernel, family.kernels.end());
  const auto file = kernel::parse(kernel->text, kernel->name);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  for (const int layout : {0, 1, 2, 3}) {
    Problem problem = problem_of(family, DType::kBF16);
    problem.flags["TRANS_A"] = layout / 2;
    problem.flags["TRANS_B"] = layout % 2;
    const auto source = kernel::make_source(*file, file->defaults, problem, harness::signature_of(family),
                                            gpu(), Build::kTimed);
    ASSERT_TRUE(source.has_value()) << source.error().message;
    const Binary binary = compile(*source);
    EXPECT_THAT(binary.facts.forbidden, IsEmpty());
    EXPECT_THAT(binary.facts.mutable_globals, IsEmpty());
    EXPECT_THAT(binary.facts.noted,
                Contains(HasSubstr("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16")));
  }
}

TEST_F(ShippedKernels, ReferencesCompileForAGpu) {
  for (const op::Family& family : registry_->families()) {
    for (const DType dtype : family.dtypes) {
      const auto source = harness::reference_source(family, problem_of(family, dtype), gpu());
      ASSERT_TRUE(source.has_value()) << source.error().message;
      const Binary binary = compile(*source);
      EXPECT_EQ(binary.format, "cubin") << family.name;
    }
  }
}

}  // namespace
}  // namespace ak::cuda
