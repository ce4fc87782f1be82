#pragma once
// The CUDA device: one GPU through the driver's own interface. Candidates see inputs through a read-only
// mapping; buffers end or start at unmapped pages; rounds are CUDA graphs timed by events. An illegal access
// or a hang ends the context: usable() turns false and the process must be replaced.
//
//   AK_TRY(device, CudaDevice::create({.compiler = compiler}));

#include <memory>

#include "autokernel/device/device.h"

namespace ak::cuda {

struct CudaDeviceOptions {
  device::Compiler* compiler = nullptr;  ///< compiles the device's own kernels; must outlive the device
  int ordinal = 0;                       ///< which GPU, as the driver counts
};

class CudaDevice final : public device::Device {
 public:
  /// Fails where driver, GPU, virtual memory management or the compiler are missing.
  static Result<std::unique_ptr<CudaDevice>> create(const CudaDeviceOptions& options);
  ~CudaDevice() override;

  const DeviceInfo& info() const override;
  bool usable() const override;

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
  explicit CudaDevice(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Every GPU that the driver sees, in its order; makes no context. An error says why there is none.
Result<std::vector<DeviceInfo>> list_devices();

}  // namespace ak::cuda
