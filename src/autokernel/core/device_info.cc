#include "autokernel/core/device_info.h"

#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"

namespace ak {

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
