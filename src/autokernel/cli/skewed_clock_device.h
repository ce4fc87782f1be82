#pragma once
// A device whose timer runs slow by a factor, for the self-test: what a driver with a broken event timer, or
// a candidate that reached the timer, would look like.

#include <memory>

#include "autokernel/device/device.h"

namespace ak::cli {

class SkewedClockDevice final : public device::Device {
 public:
  SkewedClockDevice(std::unique_ptr<device::Device> device, double factor)
      : device_(std::move(device)), factor_(factor) {}

  Result<device::TimeOutcome> time(std::span<const device::Round> rounds, const TimeLimits& limits) override {
    AK_TRY(outcome, device_->time(rounds, limits));
    bool of_a_candidate = !rounds.empty() && !rounds.front().before.empty();  // peaks are measured honestly
    for (device::RoundTime& round : outcome.rounds) {
      if (of_a_candidate) round.us /= factor_;
    }
    return outcome;
  }

  const DeviceInfo& info() const override { return device_->info(); }
  bool usable() const override { return device_->usable(); }
  Result<device::ModuleId> load(const Binary& binary, device::Trust trust) override {
    return device_->load(binary, trust);
  }
  void unload(device::ModuleId module) override { device_->unload(module); }
  Result<device::BufferId> allocate(const device::BufferSpec& spec) override {
    return device_->allocate(spec);
  }
  void free(device::BufferId buffer) override { device_->free(buffer); }
  Status write(device::BufferRef to, std::span<const std::byte> bytes) override {
    return device_->write(to, bytes);
  }
  Status read(device::BufferRef from, std::span<std::byte> bytes) override {
    return device_->read(from, bytes);
  }
  Result<device::RunOutcome> run(std::span<const device::Step> steps,
                                 std::chrono::milliseconds deadline) override {
    return device_->run(steps, deadline);
  }
  Result<device::GuardReport> check_guards() override { return device_->check_guards(); }

 private:
  std::unique_ptr<device::Device> device_;
  double factor_;
};

}  // namespace ak::cli
