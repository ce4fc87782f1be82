#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "autokernel/base/hash.h"
#include "autokernel/device/cpu/cpu_device.h"

namespace ak::cpu {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

std::uint64_t positive(long value) { return value > 0 ? static_cast<std::uint64_t>(value) : 0; }

}  // namespace

DeviceInfo describe_cpu(std::uint32_t threads) {
  DeviceInfo info;
  const std::string model = cpu_model();
  info.kind = "cpu";
  info.arch = "cpu";
  info.name = fmt::format("{}, {} thread{}", model, threads, threads == 1 ? "" : "s");
  info.uuid = "cpu-" + content_hash({model, std::to_string(std::thread::hardware_concurrency()),
                                     std::to_string(threads)});
  info.multiprocessors = threads;
  info.l2_bytes =
      std::max(positive(::sysconf(_SC_LEVEL2_CACHE_SIZE)), positive(::sysconf(_SC_LEVEL3_CACHE_SIZE)));
  info.memory_bytes = positive(::sysconf(_SC_PHYS_PAGES)) * positive(::sysconf(_SC_PAGE_SIZE));
#if !defined(__SANITIZE_ADDRESS__)
  info.checked_build = true;  // AddressSanitizer defines the functions that a checked kernel calls
#endif
  return info;
}

}  // namespace ak::cpu
