// Red zones: bytes around every buffer that a candidate sees, filled when it is allocated, compared after
// launches.

#include <vector>

#include "autokernel/device/cuda/cuda_device_state.h"

namespace ak::cuda {

Status CudaDevice::State::fill_zones(const CudaBuffer& buffer) {
  if (buffer.zones.empty()) return {};
  if (zone_capacity < 2) AK_TRY_VOID(reserve_zones(64));
  AK_TRY_VOID(api.check(
      api.memcpy_to_device(zone_table, buffer.zones.data(), buffer.zones.size() * sizeof(Zone), stream),
      "copy to the GPU"));
  zones_changed = true;
  void* params[] = {&zone_table};
  AK_TRY_VOID(launch_own("ak_zone_fill", static_cast<std::uint32_t>(buffer.zones.size()), 256, 0, params));
  AK_TRY(fault, wait(std::chrono::seconds(10)));  // the table is written again for the next buffer
  if (fault) return environment_error("filling red zones failed: {}", fault->message);
  return {};
}

Status CudaDevice::State::reserve_zones(std::size_t count) {
  if (count <= zone_capacity) return {};
  for (DevicePointer each : {zone_table, zone_found}) {
    if (each != 0) AK_TRY_VOID(api.check(api.mem_free(each), "free a buffer"));
  }
  zone_table = zone_found = 0;
  AK_TRY_VOID(api.check(api.mem_alloc(&zone_table, count * sizeof(Zone)), "allocate a buffer"));
  AK_TRY_VOID(api.check(api.mem_alloc(&zone_found, count * 16), "allocate a buffer"));
  zone_capacity = count;
  return {};
}

/// Puts the zones of all buffers into the table that ak_zone_check reads.
Status CudaDevice::State::refresh_zone_table() {
  if (!zones_changed) return {};
  std::vector<Zone> zones;
  zone_owners.clear();
  for (const auto& [id, buffer] : buffers) {
    zones.insert(zones.end(), buffer.zones.begin(), buffer.zones.end());
    zone_owners.insert(zone_owners.end(), buffer.zones.size(), id);
  }
  if (zones.size() > zone_capacity) AK_TRY_VOID(reserve_zones(2 * zones.size()));
  if (!zones.empty()) {
    AK_TRY_VOID(api.check(api.memcpy_to_device(zone_table, zones.data(), zones.size() * sizeof(Zone), stream),
                          "copy to the GPU"));
  }
  zones_changed = false;
  return {};
}

Result<device::GuardReport> CudaDevice::check_guards() {
  State& state = *state_;
  AK_TRY_VOID(state.refresh_zone_table());
  const std::size_t count = state.zone_owners.size();
  if (count == 0) return device::GuardReport{};
  std::vector<std::uint64_t> found(2 * count);
  for (std::size_t i = 0; i < count; ++i) found[2 * i + 1] = ~std::uint64_t{0};
  const DriverApi& api = state.api;
  AK_TRY_VOID(api.check(api.memcpy_to_device(state.zone_found, found.data(), found.size() * 8, state.stream),
                        "copy to the GPU"));
  void* params[] = {&state.zone_table, &state.zone_found};
  AK_TRY_VOID(state.launch_own("ak_zone_check", static_cast<std::uint32_t>(count), 256, 0, params));
  AK_TRY(fault, state.wait(std::chrono::seconds(10)));
  if (fault) return environment_error("comparing red zones failed: {}", fault->message);
  AK_TRY_VOID(
      api.check(api.memcpy_to_host(found.data(), state.zone_found, found.size() * 8), "copy from the GPU"));
  for (std::size_t i = 0; i < count; ++i) {
    if (found[2 * i] == 0) continue;
    const CudaBuffer& buffer = state.buffers.at(state.zone_owners[i]);
    const Zone* zone = nullptr;
    for (std::size_t k = i; zone == nullptr; --k) {
      if (k == 0 || state.zone_owners[k - 1] != state.zone_owners[i]) zone = &buffer.zones[i - k];
    }
    const bool before = zone->at < buffer.trusted();
    const std::uint64_t first = zone->at + found[2 * i + 1];
    const auto number = static_cast<std::uint32_t>(state.zone_owners[i]);
    return device::GuardReport{
        fmt::format("{} ({} bytes): {} bytes {} it were written, the first {} bytes {}",
                    buffer.spec.name.empty() ? fmt::format("buffer {}", number) : buffer.spec.name,
                    buffer.spec.bytes, found[2 * i], before ? "before" : "after",
                    before ? buffer.trusted() - first : first - buffer.trusted() - buffer.spec.bytes,
                    before ? "before its start" : "after its end")};
  }
  return device::GuardReport{};
}

}  // namespace ak::cuda
