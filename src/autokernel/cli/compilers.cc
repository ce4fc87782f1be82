#include "autokernel/cli/compilers.h"

#include "autokernel/api/architecture.h"
#include "autokernel/base/file.h"
#include "autokernel/device/cuda/nvrtc_compiler.h"
#include "autokernel/embed/device_headers.h"

namespace ak::cli {

Result<std::unique_ptr<device::Compiler>> make_nvrtc(bool unsafe_no_sandbox) {
  AK_TRY(location, cuda::find_nvrtc(cuda::NvrtcSearch::from_environment()));
  cuda::NvrtcOptions options;
  options.location = std::move(location);
  options.headers = embed::device_headers();
  // Without a cache every compile is paid for, and nothing else changes.
  if (auto cache = device::ObjectCache::open(cache_directory() / "objects"))
    options.cache = std::move(*cache);
  if (unsafe_no_sandbox) options.confinement = cuda::Confinement::kNone;
  AK_TRY(compiler, cuda::NvrtcCompiler::create(std::move(options)));
  return std::unique_ptr<device::Compiler>(std::make_unique<cuda::NvrtcCompiler>(std::move(compiler)));
}

Result<MadeCompiler> make_compiler(Session& session, const std::string& arch) {
  if (arch == "cpu") {
    AK_TRY(parts, parts_factory("cpu", session.options().unsafe_no_sandbox)(worker::Role::kMeasure));
    return MadeCompiler{std::move(parts.compiler), parts.device->info()};
  }
  AK_TRY(device, api::describe_architecture(arch));
  AK_TRY(compiler, make_nvrtc(session.options().unsafe_no_sandbox));
  return MadeCompiler{std::move(compiler), std::move(device)};
}

}  // namespace ak::cli
