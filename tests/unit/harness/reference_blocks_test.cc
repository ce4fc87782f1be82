// The references of the families as a GPU runs them, BLOCK threads a block with matrix instructions, give
// what they give with the one thread of the CPU device.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autokernel/base/file.h"
#include "autokernel/device/cpu/cpu_compiler.h"
#include "autokernel/device/cpu/cpu_device.h"
#include "autokernel/device/forwarding_device.h"
#include "autokernel/embed/device_headers.h"
#include "autokernel/harness/reference.h"
#include "autokernel/harness/sizes.h"
#include "autokernel/harness/verifier.h"
#include "fixtures.h"

namespace ak::harness {
namespace {

using namespace ak::harness::testing;

/// The CPU device, with the blocks that suit a GPU.
class WideDevice final : public device::ForwardingDevice {
 public:
  explicit WideDevice(device::Device& device) : ForwardingDevice(device) { info_.natural_block = 256; }
};

/// r and S of an output, and each I.
using Arrays = std::vector<std::vector<double>>;

class ReferenceBlocks : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    cache_ = std::move(*TempDir::create("ak-reference"));
    cpu::CpuCompilerOptions options;
    options.cache = cache_->path();
    for (const EmbeddedFile& file : embed::device_headers()) options.device_headers.push_back(file);
    compiler_ = std::move(*cpu::CpuCompiler::create(std::move(options)));
    device_ = std::move(*cpu::CpuDevice::create({.jail_command = {}, .threads = 2}));
    registry_ = registry();
  }

  Result<Arrays> arrays_of(Context& context, const Problem& problem, device::Device& as) {
    References references(as, *compiler_);
    AK_TRY(data, DataSet::allocate(*device_, context.family, problem, {}));
    AK_TRY(truth, Truth::allocate(*device_, context.family, problem));
    AK_TRY(steps, input_steps(context, problem, data, context.family.draws.front(), nullptr, 7));
    AK_TRY(reference, references.steps(context.family, problem, data, truth));
    steps.insert(steps.end(), reference.begin(), reference.end());
    AK_TRY_VOID(run_trusted(context, steps));
    Arrays arrays;
    for (const auto& [name, output] : truth.outputs()) {
      std::vector<device::BufferRef> all = {output.r, output.s};
      all.insert(all.end(), output.roundings.begin(), output.roundings.end());
      for (const device::BufferRef& each : all) {
        arrays.emplace_back(output.elements);
        AK_TRY_VOID(device_->read(each, std::as_writable_bytes(std::span(arrays.back()))));
      }
    }
    return arrays;
  }

  std::optional<TempDir> cache_;
  std::unique_ptr<cpu::CpuCompiler> compiler_;
  std::unique_ptr<cpu::CpuDevice> device_;
  op::Registry registry_ = *op::Registry::create({}, {});
};

TEST_P(ReferenceBlocks, OfManyThreadsGiveWhatOneThreadGives) {
  const op::Family& family = **registry_.find(GetParam());
  CheckSet checks = CheckSet::all();
  SystemClock clock;
  TrustedKernels trusted(*device_, *compiler_);
  Context context{*device_, *compiler_, trusted, family, checks, clock, Limits::for_device(device_->info()),
                  Rng(1)};
  WideDevice wide(*device_);
  for (const op::Size& size : family.sizes.at("smoke")) {
    const Problem problem = *op::make_problem(family, size, DType::kF16);
    const Result<Arrays> one = arrays_of(context, problem, *device_);
    ASSERT_TRUE(one) << one.error().message;
    const Result<Arrays> many = arrays_of(context, problem, wide);
    ASSERT_TRUE(many) << many.error().message;
    ASSERT_EQ(one->size(), many->size());
    for (std::size_t k = 0; k < one->size(); ++k) {
      const bool is_size_of_error = k % (2 + family.tolerance.roundings.size()) == 1;
      for (std::size_t i = 0; i < (*one)[k].size(); ++i) {
        const double a = (*one)[k][i], b = (*many)[k][i];
        const double allowed = is_size_of_error ? 2e-3 * std::abs(a) : 1e-12 * (1 + std::abs(a));
        ASSERT_TRUE(std::abs(a - b) <= allowed)
            << problem.label() << ", array " << k << ", element " << i << ": " << a << " and " << b;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ReferenceBlocks,
                         ::testing::Values("matmul", "conv2d", "fused_mlp", "flash_attention", "softmax"),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace ak::harness
