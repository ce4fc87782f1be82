#pragma once
// Families, problems and kernels for tests of the harness; a device that only has a description.

#include <gtest/gtest.h>

#include <string>

#include "autokernel/base/clock.h"
#include "autokernel/harness/candidate.h"
#include "autokernel/harness/harness.h"
#include "autokernel/op/op_family.h"

namespace ak::harness::testing {

/// The embedded families.
inline op::Registry registry() {
  auto made = op::Registry::create(op::embedded_families(), {});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

inline Problem problem_of(const op::Family& family, const std::string& size, DType dtype = DType::kF32) {
  auto parsed = op::parse_size(family, size);
  EXPECT_TRUE(parsed) << parsed.error().message;
  auto problem = op::make_problem(family, *parsed, dtype);
  EXPECT_TRUE(problem) << problem.error().message;
  return *problem;
}

/// Answers what a device is; everything else is an error.
class DescribedDevice final : public device::Device {
 public:
  explicit DescribedDevice(DeviceInfo info) : info_(std::move(info)) {}
  const DeviceInfo& info() const override { return info_; }
  bool usable() const override { return true; }
  Result<device::ModuleId> load(const Binary&, device::Trust) override { return none(); }
  void unload(device::ModuleId) override {}
  Result<device::BufferId> allocate(const device::BufferSpec&) override { return none(); }
  void free(device::BufferId) override {}
  Status write(device::BufferRef, std::span<const std::byte>) override { return none(); }
  Status read(device::BufferRef, std::span<std::byte>) override { return none(); }
  Result<device::RunOutcome> run(std::span<const device::Step>, std::chrono::milliseconds) override {
    return none();
  }
  Result<device::TimeOutcome> time(std::span<const device::Round>, const TimeLimits&) override {
    return none();
  }
  Result<device::GuardReport> check_guards() override { return none(); }

 private:
  static tl::unexpected<Error> none() { return internal_error("this device only has a description"); }
  DeviceInfo info_;
};

class NoCompiler final : public device::Compiler {
 public:
  Result<device::CompileOutcome> compile(const Source&) override {
    return internal_error("nothing is compiled here");
  }
  std::string description() const override { return "none"; }
};

/// A Context of the family on a described device.
class DescribedContext {
 public:
  explicit DescribedContext(const op::Family& family, std::uint64_t seed = 1)
      : device_(DeviceInfo{.kind = "cpu"}),
        trusted_(device_, compiler_),
        context_{device_,  compiler_, trusted_, family, checks_, clock_, Limits::for_device(device_.info()),
                 Rng(seed)} {}
  Context& operator*() { return context_; }

 private:
  DescribedDevice device_;
  NoCompiler compiler_;
  TrustedKernels trusted_;
  CheckSet checks_ = CheckSet::all();
  SystemClock clock_;
  Context context_;
};

}  // namespace ak::harness::testing
