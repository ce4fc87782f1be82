#pragma once
// What is known of a device: limits that the host enforces before a compile, and names for reports.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"

namespace ak {

struct DeviceInfo {
  std::string kind;                   ///< "cpu", "cuda"
  std::string name;                   ///< "AMD EPYC, 2 threads", "NVIDIA H200"
  std::string uuid;                   ///< stable key for cached peaks
  std::string arch;                   ///< "cpu", "sm_90a"
  std::uint32_t multiprocessors = 1;  ///< CPU: threads that run blocks
  std::uint32_t warp_size = 32;
  std::uint32_t max_threads_per_block = 1024;
  std::array<std::uint32_t, 3> max_block{1024, 1024, 64};
  std::array<std::uint32_t, 3> max_grid{2147483647, 65535, 65535};
  std::uint32_t max_threads_per_multiprocessor = 2048;
  std::uint32_t registers_per_multiprocessor = 65536;
  std::uint32_t static_shared_bytes = 48 * 1024;
  std::uint32_t dynamic_shared_bytes = 99 * 1024;  ///< per block, opt-in
  std::uint32_t shared_bytes_per_multiprocessor = 100 * 1024;
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
  bool clusters = false;
  bool tensor_maps = false;
  bool cold_cache = false;     ///< timings can be made cache-cold (rotation beyond L2 and read flushes)
  bool checked_build = false;  ///< the compiler has Build::kChecked
  std::uint32_t natural_block =
      1;  ///< threads a block for trusted kernels that loop over a row: 1 on the CPU
};

/// What --device and the setting `device` name: "auto", "cpu", "cuda" (the first GPU) or "cuda:2" (the
/// third).
struct DeviceName {
  std::string kind;  ///< "auto", "cpu", "cuda"
  int ordinal = 0;   ///< of a GPU
};
/// kUsage: no such name. Whether the machine has the device is not looked at.
Result<DeviceName> parse_device_name(std::string_view name);

/// 90 of "sm_90a", "sm_90f" and "sm_90"; nullopt: no CUDA architecture.
std::optional<int> cuda_arch_number(std::string_view arch);

Json to_json(const DeviceInfo& info);
Result<DeviceInfo> device_info_from_json(const Json& json, const std::string& what);

}  // namespace ak
