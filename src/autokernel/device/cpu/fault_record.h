#pragma once
// What the runtime notes when a kernel misbehaves. Plain data: it crosses the jail's control page, where the
// parent trusts no field of it (fault_text.h makes the text).

#include <cstdint>
#include <type_traits>

#include "autokernel/device/cpu/abi.h"

namespace ak::cpu {

enum class RecordKind : std::uint32_t {
  kNone,
  kSignal,         ///< SIGSEGV, SIGBUS, SIGFPE, SIGILL
  kSystemCall,     ///< SIGSYS; `detail` is the number
  kOutOfBounds,    ///< checked build: an access outside everything the kernel may touch
  kReadOnlyWrite,  ///< checked build: a write to an input
  kRace,
  kUninitialised,
  kDivergentBarrier,  ///< checked build: different barriers, or an exited thread
  kDeadlock,          ///< nothing can run any more
  kTrap,
  kUnsupported,
  kLoadFailed,  ///< the module does not load; `note` says why
  kOutOfMemory,
};

enum class Wait : std::uint32_t { kNone, kBarrier, kWarp, kGrid, kExited };

/// How the memory that was touched relates to what is known.
enum class Region : std::uint32_t {
  kUnknown,
  kBuffer,  ///< `buffer`, `offset` from its start
  kStaticShared,
  kDynamicShared,
  kStack,  ///< a thread's stack ran over
};

/// Of a fault whose address the processor does not tell: it was not canonical.
inline constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

struct FaultRecord {
  RecordKind kind = RecordKind::kNone;
  std::uint32_t signal = 0;
  std::int64_t detail = 0;  ///< system call, index of ubsan
  std::uint64_t pc = 0;     ///< offset in the module of the instruction after the access or call; 0: unknown
  std::uint64_t other_pc = 0;  ///< the other access of a race, the other barrier
  std::uint64_t address = 0;
  std::int64_t offset = 0;  ///< of the access from the start of the region; negative: before it
  std::uint64_t region_bytes = 0;
  Region region = Region::kUnknown;
  std::uint32_t buffer = 0;  ///< index in the jail's table
  std::uint32_t size = 0;    ///< bytes accessed; 0: unknown
  std::uint32_t is_write = 0;
  std::uint32_t other_is_write = 0;
  Wait wait = Wait::kNone;  ///< what the thread waits for (deadlock)
  Wait other_wait = Wait::kNone;
  std::uint32_t thread_known = 0;
  AkDim3 thread{}, block{}, other_thread{};
  char note[96] = {};  ///< never trusted to end in a zero
};
static_assert(std::is_trivially_copyable_v<FaultRecord>);

}  // namespace ak::cpu
