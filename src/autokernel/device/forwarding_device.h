#pragma once
// A device that passes everything on to another: what differs is overridden, or its description changed.

#include "autokernel/device/device.h"

namespace ak::device {

class ForwardingDevice : public Device {
 public:
  /// `device` must outlive it.
  explicit ForwardingDevice(Device& device) : device_(device), info_(device.info()) {}

  const DeviceInfo& info() const override { return info_; }
  bool usable() const override { return device_.usable(); }
  Result<ModuleId> load(const Binary& binary, Trust trust) override { return device_.load(binary, trust); }
  void unload(ModuleId module) override { device_.unload(module); }
  Result<BufferId> allocate(const BufferSpec& spec) override { return device_.allocate(spec); }
  void free(BufferId buffer) override { device_.free(buffer); }
  Status write(BufferRef to, std::span<const std::byte> bytes) override { return device_.write(to, bytes); }
  Status read(BufferRef from, std::span<std::byte> bytes) override { return device_.read(from, bytes); }
  Result<RunOutcome> run(std::span<const Step> steps, std::chrono::milliseconds deadline) override {
    return device_.run(steps, deadline);
  }
  Result<TimeOutcome> time(std::span<const Round> rounds, const TimeLimits& limits) override {
    return device_.time(rounds, limits);
  }
  Result<GuardReport> check_guards() override { return device_.check_guards(); }

 protected:
  Device& device_;
  DeviceInfo info_;
};

}  // namespace ak::device
