#include "autokernel/core/device_info.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"

namespace ak {
namespace {

/// All of `text` as a number of digits.
std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<DeviceName> parse_device_name(std::string_view name) {
  if (name == "auto" || name == "cpu" || name == "cuda") return DeviceName{std::string(name)};
  if (name.starts_with("cuda:")) {
    if (const std::optional<int> ordinal = whole_number(name.substr(5))) return DeviceName{"cuda", *ordinal};
  }
  return usage_error("device `{}`: expected auto, cpu or cuda, or cuda:N for the GPU number N", name);
}

std::optional<int> cuda_arch_number(std::string_view arch) {
  if (!arch.starts_with("sm_")) return std::nullopt;
  arch.remove_prefix(3);
  if (arch.ends_with('a') || arch.ends_with('f')) arch.remove_suffix(1);
  if (arch.size() != 2 && arch.size() != 3) return std::nullopt;
  return whole_number(arch);
}

Json to_json(const DeviceInfo& info) {
  return {{"schema", kSchema},
          {"kind", info.kind},
          {"name", info.name},
          {"uuid", info.uuid},
          {"arch", info.arch},
          {"multiprocessors", info.multiprocessors},
          {"warp_size", info.warp_size},
          {"max_threads_per_block", info.max_threads_per_block},
          {"max_block", info.max_block},
          {"max_grid", info.max_grid},
          {"max_threads_per_multiprocessor", info.max_threads_per_multiprocessor},
          {"registers_per_multiprocessor", info.registers_per_multiprocessor},
          {"static_shared_bytes", info.static_shared_bytes},
          {"dynamic_shared_bytes", info.dynamic_shared_bytes},
          {"shared_bytes_per_multiprocessor", info.shared_bytes_per_multiprocessor},
          {"l2_bytes", info.l2_bytes},
          {"memory_bytes", info.memory_bytes},
          {"clusters", info.clusters},
          {"tensor_maps", info.tensor_maps},
          {"cold_cache", info.cold_cache},
          {"checked_build", info.checked_build},
          {"natural_block", info.natural_block}};
}

Result<DeviceInfo> device_info_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::top_level(json, what));
  DeviceInfo info;
  in.read("kind", info.kind);
  in.read("name", info.name);
  in.read("uuid", info.uuid);
  in.read("arch", info.arch);
  in.read("multiprocessors", info.multiprocessors);
  in.read("warp_size", info.warp_size);
  in.read("max_threads_per_block", info.max_threads_per_block);
  in.read("max_block", info.max_block);
  in.read("max_grid", info.max_grid);
  in.read("max_threads_per_multiprocessor", info.max_threads_per_multiprocessor);
  in.read("registers_per_multiprocessor", info.registers_per_multiprocessor);
  in.read("static_shared_bytes", info.static_shared_bytes);
  in.read("dynamic_shared_bytes", info.dynamic_shared_bytes);
  in.read("shared_bytes_per_multiprocessor", info.shared_bytes_per_multiprocessor);
  in.read("l2_bytes", info.l2_bytes);
  in.read("memory_bytes", info.memory_bytes);
  in.read("clusters", info.clusters);
  in.read("tensor_maps", info.tensor_maps);
  in.read("cold_cache", info.cold_cache);
  in.read("checked_build", info.checked_build);
  in.read("natural_block", info.natural_block);
  return in.finish(std::move(info));
}

}  // namespace ak
