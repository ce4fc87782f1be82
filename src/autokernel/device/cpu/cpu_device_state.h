#pragma once
// What CpuDevice is made of. Internal.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/device/cpu/buffers.h"
#include "autokernel/device/cpu/cpu_device.h"
#include "autokernel/device/cpu/device_modules.h"
#include "autokernel/device/cpu/grid_runner.h"

namespace ak::cpu {

struct CpuDevice::State {
  using Clock = std::chrono::steady_clock;

  DeviceInfo info;
  std::vector<std::string> jail_command;
  std::uint32_t threads = 1;
  std::map<device::ModuleId, std::unique_ptr<DeviceModule>> modules;
  std::unique_ptr<GridRunner> pool;  ///< for trusted kernels; goes before their modules
  std::map<device::BufferId, Buffer> buffers;
  std::uint32_t next_module = 1, next_buffer = 1;
  std::uint64_t table_version = 1;  ///< of the buffers that jails see

  Result<DeviceModule*> module(device::ModuleId id);
  Result<std::byte*> at(device::BufferRef ref, std::uint64_t bytes);

  /// A launch that no limit of the device allows is a fault, one that names what does not exist an Error.
  Result<std::optional<device::Fault>> check_launch(const device::Launch& launch);
  /// Checks all steps and notes what the jails must be able to hold.
  Result<std::optional<device::Fault>> prepare(std::span<const device::Step> steps);

  /// Runs steps in order, candidates in their jails.
  Result<std::optional<device::Fault>> run_steps(std::span<const device::Step> steps, Clock::time_point until,
                                                 std::chrono::milliseconds deadline);
  struct TimedPart {
    std::optional<device::Fault> fault;
    double wall_us = 0, overhead_us = 0;
  };
  Result<TimedPart> run_timed(std::span<const device::Step> steps, std::chrono::milliseconds deadline);

  Result<std::optional<device::Fault>> ensure_jail(DeviceModule& module, const device::Launch& launch);
  Result<std::optional<device::Fault>> run_in_jail(DeviceModule& module, std::span<const device::Step> steps,
                                                   std::size_t first_index, std::chrono::nanoseconds deadline,
                                                   std::chrono::milliseconds stated, double* elapsed_us);
  Result<JailBatch> encode(DeviceModule& module, std::span<const device::Step> steps);
  Result<std::optional<device::Fault>> run_trusted(const device::Launch& launch);
  void scrub(device::Scrub::What what);
  RunnerNeeds needs_of(const device::Launch& launch, const DeviceModule& module) const;
};

}  // namespace ak::cpu
