#pragma once
// A compiled module: what its imports say about how to run it, and dlopen from memory.

#include <string>

#include "autokernel/base/result.h"
#include "autokernel/base/unique_fd.h"
#include "autokernel/core/binary.h"
#include "autokernel/device/cpu/kernel_launch.h"

namespace ak::cpu {

/// Whether the module waits for other threads, and whether it is instrumented (Build::kChecked).
struct ModuleTraits {
  bool blocking = false;
  bool checked = false;
  static ModuleTraits of(const CodeFacts& facts);
};

/// The shared object in a memfd (sealed: it cannot change while a jail maps it).
Result<UniqueFd> module_file(const std::string& bytes);

/// dlopens descriptor `fd` by its /proc path and finds `ak_module`. The handle is never closed by this
/// function; the error is the loader's own text.
struct OpenedModule {
  void* handle = nullptr;
  LoadedModule loaded;
};
Result<OpenedModule> open_module(int fd, const ModuleTraits& traits);
void close_module(OpenedModule& module);

}  // namespace ak::cpu
