#pragma once
// The CPU device: CUDA C++ compiled by the host compiler, blocks on OS threads, CUDA threads as fibers.
// Trusted modules run in this process, each candidate in a jail of its own (jail.h). Timings are CPU timings.
//
//   AK_TRY(device, cpu::CpuDevice::create({}));
//
// The executable must export the runtime (cmake/AkCpuRuntime.cmake) and call cpu::jail_main() when its first
// argument is "__jail". All calls come from one thread, which must outlive the jails (they die with the
// thread that started them).

#include <memory>
#include <string>
#include <vector>

#include "autokernel/device/device.h"

namespace ak::cpu {

struct CpuDeviceOptions {
  /// argv of a process that calls jail_main(); empty: {/proc/self/exe, "__jail"}.
  std::vector<std::string> jail_command;
  std::uint32_t threads = 0;  ///< OS threads that run blocks; 0: one per core
};

class CpuDevice final : public device::Device {
 public:
  static Result<std::unique_ptr<CpuDevice>> create(const CpuDeviceOptions& options);
  ~CpuDevice() override;

  const DeviceInfo& info() const override;
  bool usable() const override { return true; }  ///< what dies is a jail, the next launch gets a new one

  Result<device::ModuleId> load(const Binary& binary, device::Trust trust) override;
  void unload(device::ModuleId module) override;
  Result<device::BufferId> allocate(const device::BufferSpec& spec) override;
  void free(device::BufferId buffer) override;
  Status write(device::BufferRef to, std::span<const std::byte> bytes) override;
  Status read(device::BufferRef from, std::span<std::byte> bytes) override;
  Result<device::RunOutcome> run(std::span<const device::Step> steps,
                                 std::chrono::milliseconds deadline) override;
  Result<device::TimeOutcome> time(std::span<const device::Round> rounds, const TimeLimits& limits) override;
  Result<device::GuardReport> check_guards() override;

 private:
  struct State;
  explicit CpuDevice(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Name, core count, cache sizes and memory of this machine.
DeviceInfo describe_cpu(std::uint32_t threads);

}  // namespace ak::cpu
