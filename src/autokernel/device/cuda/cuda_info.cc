#include "autokernel/device/cuda/cuda_info.h"

#include "autokernel/device/cuda/cuda_device.h"

namespace ak::cuda {
namespace {

/// Asks several attributes and keeps the first failure.
class Attributes {
 public:
  Attributes(const DriverApi& api, DeviceOrdinal device) : api_(api), device_(device) {}
  std::uint32_t operator()(DeviceAttribute attribute) {
    int value = 0;
    const DriverResult asked = api_.device_get_attribute(&value, attribute, device_);
    if (status_ && asked != DriverResult::kSuccess)
      status_ = api_.check(asked, "ask a device for its limits");
    return static_cast<std::uint32_t>(std::max(value, 0));
  }
  const Status& status() const { return status_; }

 private:
  const DriverApi& api_;
  DeviceOrdinal device_;
  Status status_;
};

std::string uuid_text(const Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

/// Instructions of one architecture only (wgmma, setmaxnreg, tcgen05) need the suffix.
std::string arch_of(std::uint32_t major, std::uint32_t minor) {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

}  // namespace

Result<DeviceInfo> describe_device(const DriverApi& api, DeviceOrdinal device) {
  DeviceInfo info;
  char name[256] = {};
  Uuid uuid{};
  std::size_t memory = 0;
  AK_TRY_VOID(api.check(api.device_get_name(name, sizeof name - 1, device), "ask a device for its name"));
  AK_TRY_VOID(api.check(api.device_get_uuid(&uuid, device), "ask a device for its uuid"));
  AK_TRY_VOID(api.check(api.device_total_mem(&memory, device), "ask a device for its memory"));
  Attributes ask(api, device);
  using A = DeviceAttribute;
  info.kind = "cuda";
  info.name = name;
  info.uuid = uuid_text(uuid);
  info.arch = arch_of(ask(A::kComputeCapabilityMajor), ask(A::kComputeCapabilityMinor));
  info.multiprocessors = ask(A::kMultiprocessors);
  info.warp_size = ask(A::kWarpSize);
  info.max_threads_per_block = ask(A::kMaxThreadsPerBlock);
  info.max_block = {ask(A::kMaxBlockX), ask(A::kMaxBlockY), ask(A::kMaxBlockZ)};
  info.max_grid = {ask(A::kMaxGridX), ask(A::kMaxGridY), ask(A::kMaxGridZ)};
  info.max_threads_per_multiprocessor = ask(A::kMaxThreadsPerMultiprocessor);
  info.registers_per_multiprocessor = ask(A::kRegistersPerMultiprocessor);
  info.static_shared_bytes = ask(A::kSharedBytesPerBlock);
  info.dynamic_shared_bytes = ask(A::kSharedBytesPerBlockOptIn);
  info.shared_bytes_per_multiprocessor = ask(A::kSharedBytesPerMultiprocessor);
  info.l2_bytes = ask(A::kL2Bytes);
  info.memory_bytes = memory;
  info.clusters = ask(A::kClusterLaunch) != 0;
  info.tensor_maps = ask(A::kTensorMaps) != 0;
  info.cold_cache = true;
  info.natural_block = 256;
  const bool virtual_memory = ask(A::kVirtualMemory) != 0;
  if (!ask.status()) return tl::unexpected(ask.status().error());
  if (!virtual_memory) {
    return environment_error(
        "{}: no virtual memory management, which guarded buffers need: measure with --device cpu", info.name);
  }
  return info;
}

Result<std::vector<DeviceInfo>> list_devices() {
  AK_TRY(api, DriverApi::load());
  int count = 0;
  AK_TRY_VOID(api.check(api.device_get_count(&count), "count the GPUs"));
  std::vector<DeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    DeviceOrdinal device = 0;
    AK_TRY_VOID(api.check(api.device_get(&device, i), "find a GPU"));
    AK_TRY(info, describe_device(api, device));
    devices.push_back(std::move(info));
  }
  return devices;
}

}  // namespace ak::cuda
