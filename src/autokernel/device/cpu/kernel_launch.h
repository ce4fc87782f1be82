#pragma once
// One launch as the runtime sees it: pointers are resolved, the limits were enforced by whoever made it.

#include <cstdint>

#include "autokernel/device/cpu/abi.h"

namespace ak::cpu {

/// A module of this process (dlopen'ed, or part of a test).
struct LoadedModule {
  const AkModule* module = nullptr;
  std::uintptr_t base = 0;  ///< load address; 0: offsets in reports are absolute
  std::uintptr_t end = 0;
  bool blocking = true;  ///< may wait for other threads: run as fibers. Else as a plain loop
  bool checked = false;  ///< instrumented: always run as fibers, so that the accessing thread is known
};

struct KernelLaunch {
  const LoadedModule* module = nullptr;
  const AkEntry* entry = nullptr;
  AkDim3 grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  bool cooperative = false;
  void** params = nullptr;

  std::uint32_t threads() const { return block.x * block.y * block.z; }
  std::uint64_t blocks() const { return static_cast<std::uint64_t>(grid.x) * grid.y * grid.z; }
  bool as_fibers() const { return module->blocking || module->checked; }
  AkDim3 block_at(std::uint64_t index) const {
    return {static_cast<std::uint32_t>(index % grid.x), static_cast<std::uint32_t>(index / grid.x % grid.y),
            static_cast<std::uint32_t>(index / grid.x / grid.y)};
  }
  AkDim3 thread_at(std::uint32_t index) const {
    return {index % block.x, index / block.x % block.y, index / block.x / block.y};
  }
};

/// What a launch needs of each OS thread, so that all of it can be had before the jail closes.
struct RunnerNeeds {
  std::uint32_t fibers = 1;           ///< threads that are suspended at once: of all resident blocks
  std::uint32_t resident_blocks = 1;  ///< more than one in cooperative launches
  std::uint32_t threads = 1;          ///< of the largest block
  std::uint32_t shared_bytes = 0;     ///< dynamic, of the largest block

  void include(const RunnerNeeds& other);
  bool covers(const RunnerNeeds& other) const;
  /// `workers`: OS threads over which the blocks of a cooperative launch are spread.
  static RunnerNeeds of(const KernelLaunch& launch, std::uint32_t workers);
};

/// Threads that may be resident at once in a cooperative launch, over all OS threads.
inline constexpr std::uint64_t kMaxResidentThreads = 16384;

}  // namespace ak::cpu
