#pragma once
// A CpuDevice with handmade modules, and short ways to allocate, launch and read.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/device/cpu/cpu_device.h"
#include "support/handmade_module.h"

namespace ak::test {

class CpuFixture : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer builds have no jails";
#endif
    auto made = cpu::CpuDevice::create({.jail_command = {}, .threads = 2});
    ASSERT_TRUE(made) << made.error().message;
    device_ = std::move(*made);
  }

  device::ModuleId load(const std::string& code, const std::vector<HandmadeKernel>& kernels,
                        device::Trust trust = device::Trust::kCandidate, Build build = Build::kTimed) {
    auto binary = handmade_module(code, kernels, build);
    EXPECT_TRUE(binary) << binary.error().message;
    auto id = device_->load(*binary, trust);
    EXPECT_TRUE(id) << id.error().message;
    return *id;
  }
  device::BufferId buffer(std::uint64_t bytes, device::Access access = device::Access::kReadWrite,
                          device::Guard guard = device::Guard::kRedZone) {
    auto id = device_->allocate({.bytes = bytes, .access = access, .guard = guard});
    EXPECT_TRUE(id) << id.error().message;
    return *id;
  }
  static device::Launch launch(device::ModuleId module, std::uint32_t grid, std::uint32_t block,
                               std::vector<device::Arg> args) {
    device::Launch out;
    out.module = module;
    out.grid[0] = grid;
    out.block[0] = block;
    out.args = std::move(args);
    return out;
  }
  std::optional<device::Fault> run(const std::vector<device::Step>& steps,
                                   std::chrono::milliseconds deadline = std::chrono::seconds(10)) {
    auto outcome = device_->run(steps, deadline);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? outcome->fault : std::nullopt;
  }
  template <class T>
  std::vector<T> read(device::BufferId id, std::size_t count) {
    std::vector<T> out(count);
    EXPECT_TRUE(device_->read({id, 0}, std::as_writable_bytes(std::span(out))));
    return out;
  }
  template <class T>
  void write(device::BufferId id, const std::vector<T>& values) {
    EXPECT_TRUE(device_->write({id, 0}, std::as_bytes(std::span(values))));
  }

  std::unique_ptr<cpu::CpuDevice> device_;
};

}  // namespace ak::test
