#pragma once
// The prelude and the device headers as files, where the host compiler finds them: under
// <cache>/prelude/<hash>/, written once, checked each time.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "autokernel/base/embedded_file.h"
#include "autokernel/base/result.h"

namespace ak::cpu {

/// What an #include of a device header brings in, its own includes counted.
struct DeviceHeader {
  std::string path;  ///< as kernels write it: "autokernel/device/reduce.cuh"
  bool has_volatile = false;
  bool may_block = false;
  bool has_kernels = false;
};

struct HeaderStore {
  std::filesystem::path root;            ///< what the sandbox shows
  std::filesystem::path prelude;         ///< -I
  std::filesystem::path device;          ///< -I: device headers for the timed build
  std::filesystem::path device_checked;  ///< -I: and for the checked build
  std::string hash;                      ///< of everything in it
  std::vector<DeviceHeader> headers;

  const DeviceHeader* find(std::string_view include) const;
};

/// `device_headers` have paths relative to include/, to include/autokernel or to include/autokernel/device.
Result<HeaderStore> store_headers(const std::filesystem::path& cache,
                                  std::span<const EmbeddedFile> device_headers);

}  // namespace ak::cpu
