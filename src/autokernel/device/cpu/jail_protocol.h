#pragma once
// The memory that a jail shares with its parent, besides buffers: one memfd with this control block, the
// table of buffers and the area of batches. The parent writes requests and believes nothing that it reads
// back: a batch is judged by its outputs, after a proof that no thread of the jail runs any more.

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "autokernel/device/cpu/fault_record.h"
#include "autokernel/device/cpu/kernel_launch.h"

namespace ak::cpu {

inline constexpr int kJailControlFd = 3;
inline constexpr std::uint32_t kJailMagic = 0x6A616C31;
inline constexpr std::uint32_t kMaxArgs = 256;

struct JailBuffer {
  std::int32_t fd = -1;
  std::uint32_t writable = 0;
  std::uint64_t content_bytes = 0, user_offset = 0, bytes = 0;
};

/// What the parent fixes before the jail starts.
struct JailConfig {
  std::uint32_t magic = kJailMagic;
  std::int32_t parent_pid = 0;
  std::uint32_t threads = 1;
  std::int32_t module_fd = -1;
  std::uint32_t blocking = 0, checked = 0;
  std::uint32_t buffer_count = 0;
  RunnerNeeds needs;
  std::uint64_t table_offset = 0, batch_offset = 0, control_bytes = 0;
};

/// kLoading: from here on the module's code may have run.
enum class JailState : std::uint32_t { kStarting, kLoading, kReady, kFaulted };

struct JailControl {
  JailConfig config;
  // parent -> jail
  alignas(64) std::atomic<std::uint32_t> request{0};  ///< futex; counts batches
  std::uint32_t step_count = 0;
  // jail -> parent
  alignas(64) std::atomic<std::uint32_t> event{0};  ///< futex; changes with every one of the below
  std::atomic<std::uint32_t> done{0};               ///< the request that was finished last
  std::atomic<JailState> state{JailState::kStarting};
  std::atomic<std::uint32_t> step{0};  ///< of the batch, being run
  FaultRecord fault;
};
static_assert(std::is_standard_layout_v<JailControl>);

enum class JailStepType : std::uint32_t { kLaunch, kFill, kScrub };

struct JailArg {
  std::uint32_t is_buffer = 0;
  std::uint32_t buffer = 0;  ///< index in the table
  std::uint64_t value = 0;   ///< of a scalar, or the offset in the buffer
};

/// Followed by `arg_count` JailArgs. A fill has one (where) and uses `pattern` and `bytes`.
struct JailStep {
  JailStepType type = JailStepType::kLaunch;
  std::uint32_t entry = 0;
  AkDim3 grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::uint32_t cooperative = 0;
  std::uint32_t pattern = 0;
  std::uint32_t arg_count = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(JailStep) % 8 == 0 && sizeof(JailArg) % 8 == 0);

/// Writes `bytes` bytes of a repeated 4-byte word.
void fill_pattern(std::byte* at, std::uint64_t bytes, std::uint32_t pattern);

}  // namespace ak::cpu
