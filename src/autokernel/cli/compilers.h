#pragma once
// Compilers by architecture, without a device: `cpu`, or `sm_90a` and its like through NVRTC.

#include <memory>
#include <string>

#include "autokernel/cli/session.h"
#include "autokernel/device/compiler.h"

namespace ak::cli {

/// NVRTC, with the object cache. Fails where it is not found, or the sandbox is wanted and not there.
Result<std::unique_ptr<device::Compiler>> make_nvrtc(bool unsafe_no_sandbox);

struct MadeCompiler {
  std::unique_ptr<device::Compiler> compiler;
  DeviceInfo device;  ///< limits of the architecture, for expressions and checks; nothing of it was measured
};
Result<MadeCompiler> make_compiler(Session& session, const std::string& arch);

}  // namespace ak::cli
