#pragma once
// Where NVRTC is: a CUDA toolkit, a distribution's package, or the wheels that PyTorch brings. Nothing is
// loaded here.

#include <filesystem>
#include <string>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::cuda {

/// Folders to look into, in this order; the first that holds a usable NVRTC wins.
struct NvrtcSearch {
  std::string cuda_home;  ///< $CUDA_HOME; empty: not set
  std::string cuda_path;  ///< $CUDA_PATH
  std::filesystem::path
      python_environment;  ///< a virtual environment or a site-packages folder; may be empty
  std::vector<std::filesystem::path> library_path;    ///< $LD_LIBRARY_PATH
  std::filesystem::path toolkits = "/usr/local";      ///< holds cuda and cuda-13.0, ...
  std::vector<std::filesystem::path> system_folders;  ///< of the dynamic linker, e.g. from `ldconfig -p`

  /// Reads the environment and asks ldconfig.
  static NvrtcSearch from_environment();
};

struct NvrtcLocation {
  std::filesystem::path library;                ///< libnvrtc.so.13
  std::filesystem::path builtins;               ///< libnvrtc-builtins.so.13.0, which NVRTC loads by itself
  std::vector<std::filesystem::path> includes;  ///< CUDA headers found beside it; empty where there are none
  int major = 0, minor = 0;

  std::string version() const { return fmt::format("{}.{}", major, minor); }
  bool operator==(const NvrtcLocation&) const = default;
};

/// NVRTC 12 or newer (older ones do not know sm_90a). The error lists what was searched and why it was not
/// taken.
Result<NvrtcLocation> find_nvrtc(const NvrtcSearch& search);

}  // namespace ak::cuda
