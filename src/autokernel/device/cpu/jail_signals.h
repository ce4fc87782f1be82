#pragma once
// How a jail dies: it writes a FaultRecord into the control block, wakes the parent and exits.

#include <vector>

#include "autokernel/device/cpu/jail_protocol.h"
#include "autokernel/device/cpu/kernel_launch.h"
#include "autokernel/device/cpu/never_returns.h"

namespace ak::cpu {

/// One buffer as this jail has mapped it.
struct JailMapping {
  std::byte* content = nullptr;
  std::byte* data = nullptr;
  JailBuffer spec;
};

/// What a signal handler can consult; lives as long as the process.
struct JailScene {
  JailControl* control = nullptr;
  std::vector<JailMapping> buffers;
  LoadedModule module;
};

/// Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGSYS; `scene` is kept.
void install_jail_handlers(const JailScene& scene);
/// The calling thread's stack for them. Every thread needs one: a kernel may have used up its own.
void install_signal_stack();
/// The first record wins; the process ends.
AK_NEVER_RETURNS void report_and_exit(JailControl& control, const FaultRecord& record);

}  // namespace ak::cpu
