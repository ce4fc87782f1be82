#pragma once
// A device buffer that frees itself. Must not outlive its device.

#include <utility>

#include "autokernel/device/device.h"

namespace ak::harness {

class DeviceBuffer {
 public:
  static Result<DeviceBuffer> allocate(device::Device& device, const device::BufferSpec& spec) {
    AK_TRY(id, device.allocate(spec));
    return DeviceBuffer(device, id, spec.bytes);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), id_(other.id_), bytes_(other.bytes_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    if (this != &other) {
      release();
      device_ = std::exchange(other.device_, nullptr);
      id_ = other.id_;
      bytes_ = other.bytes_;
    }
    return *this;
  }
  ~DeviceBuffer() { release(); }

  device::BufferRef ref(std::uint64_t offset = 0) const { return {id_, offset}; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  DeviceBuffer(device::Device& device, device::BufferId id, std::uint64_t bytes)
      : device_(&device), id_(id), bytes_(bytes) {}
  void release() {
    if (device_ != nullptr) device_->free(id_);
    device_ = nullptr;
  }
  device::Device* device_;
  device::BufferId id_;
  std::uint64_t bytes_;
};

}  // namespace ak::harness
