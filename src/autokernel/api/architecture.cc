#include "autokernel/api/architecture.h"

#include <algorithm>
#include <thread>

#include "autokernel/device/cpu/cpu_device.h"

namespace ak::api {

Result<DeviceInfo> describe_architecture(std::string_view name) {
  if (name == "cpu") return cpu::describe_cpu(std::max(1U, std::thread::hardware_concurrency()));
  const int number = cuda_arch_number(name).value_or(0);
  if (number < 50) {
    return usage_error(
        "architecture `{}`: expected cpu or a CUDA architecture such as sm_80, sm_90a, sm_100a", name);
  }
  DeviceInfo info;
  info.kind = "cuda";
  info.arch = name;
  info.name = fmt::format("{} (its limits only)", name);
  info.natural_block = 256;
  info.clusters = info.tensor_maps = number >= 90;
  std::uint32_t opt_in_kib = number >= 120                  ? 99
                             : number >= 90                 ? 227
                             : number == 80 || number == 87 ? 163
                                                            : 99;
  info.dynamic_shared_bytes = opt_in_kib * 1024;
  info.shared_bytes_per_multiprocessor = (opt_in_kib + 1) * 1024;
  return info;
}

}  // namespace ak::api
