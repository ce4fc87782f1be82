#include "autokernel/cli/compilers.h"

#include "autokernel/base/file.h"
#include "autokernel/device/cpu/cpu_device.h"
#include "autokernel/device/cuda/nvrtc_compiler.h"
#include "autokernel/embed/device_headers.h"

namespace ak::cli {
namespace {

/// What the CUDA programming guide (compute capabilities) guarantees for an architecture.
DeviceInfo describe_arch(const std::string& arch) {
  DeviceInfo info;
  info.kind = "cuda";
  info.name = arch + " (compile only)";
  info.arch = arch;
  info.natural_block = 256;
  int number = std::atoi(arch.c_str() + 3);
  info.clusters = info.tensor_maps = number >= 90;
  std::uint32_t opt_in_kib = number >= 120                  ? 99
                             : number >= 90                 ? 227
                             : number == 80 || number == 87 ? 163
                                                            : 99;
  info.dynamic_shared_bytes = opt_in_kib * 1024;
  info.shared_bytes_per_multiprocessor = (opt_in_kib + 1) * 1024;
  return info;
}

Result<std::unique_ptr<device::Compiler>> make_nvrtc(Session& session) {
  AK_TRY(location, cuda::find_nvrtc(cuda::NvrtcSearch::from_environment()));
  cuda::NvrtcOptions options;
  options.location = std::move(location);
  options.headers = embed::device_headers();
  if (session.options().unsafe_no_sandbox) options.confinement = cuda::Confinement::kNone;
  AK_TRY(compiler, cuda::NvrtcCompiler::create(std::move(options)));
  return std::unique_ptr<device::Compiler>(std::make_unique<cuda::NvrtcCompiler>(std::move(compiler)));
}

}  // namespace

Result<MadeCompiler> make_compiler(Session& session, const std::string& arch) {
  if (arch == "cpu") {
    AK_TRY(parts, parts_factory("cpu", session.options().unsafe_no_sandbox)());
    return MadeCompiler{std::move(parts.compiler), parts.device->info()};
  }
  if (!arch.starts_with("sm_") || arch.size() < 5) {
    return usage_error("--arch {}: expected cpu or a CUDA architecture such as sm_80, sm_90a, sm_100a", arch);
  }
  AK_TRY(compiler, make_nvrtc(session));
  return MadeCompiler{std::move(compiler), describe_arch(arch)};
}

}  // namespace ak::cli
