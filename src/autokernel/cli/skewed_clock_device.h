#pragma once
// A device whose timer runs slow by a factor, for the self-test: what a driver with a broken event timer, or
// a candidate that reached the timer, would look like.

#include <memory>

#include "autokernel/device/forwarding_device.h"

namespace ak::cli {

class SkewedClockDevice final : public device::ForwardingDevice {
 public:
  SkewedClockDevice(std::unique_ptr<device::Device> device, double factor)
      : ForwardingDevice(*device), owned_(std::move(device)), factor_(factor) {}

  Result<device::TimeOutcome> time(std::span<const device::Round> rounds, const TimeLimits& limits) override {
    AK_TRY(outcome, ForwardingDevice::time(rounds, limits));
    bool of_a_candidate = !rounds.empty() && !rounds.front().before.empty();  // peaks are measured honestly
    for (device::RoundTime& round : outcome.rounds) {
      if (of_a_candidate) round.us /= factor_;
    }
    return outcome;
  }

 private:
  std::unique_ptr<device::Device> owned_;
  double factor_;
};

}  // namespace ak::cli
