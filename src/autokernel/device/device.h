#pragma once
// INTERFACE. Memory, launches and time of one device. Streams, graphs, events, jails and fibers are invisible
// above it. A candidate's misbehaviour (crash, hang, out of bounds) is a Fault in the outcome, a broken
// environment is an Error. After a fault the device object must be thrown away (a fresh worker), unless
// `usable()` still says true (CPU: the jail died, not the runner).

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"
#include "autokernel/core/device_info.h"
#include "autokernel/core/failure.h"
#include "autokernel/device/compiler.h"

namespace ak::device {

enum class ModuleId : std::uint32_t {};
enum class BufferId : std::uint32_t {};

/// Who may do what with a buffer while a candidate runs.
enum class Access {
  kHidden,    ///< trusted code only: references, bounds, counters, generators' seeds
  kReadOnly,  ///< inputs: a candidate's write is a fault where the device can map so
  kReadWrite,
};

/// Where the bytes lie with respect to what must not be touched.
enum class Guard {
  kRedZone,     ///< 64 KiB of random bytes on both sides, compared by check_guards()
  kEndFlush,    ///< ends at an unmapped page (up to the alignment)
  kStartFlush,  ///< starts right after an unmapped page
};

struct BufferSpec {
  std::uint64_t bytes = 0;
  Access access = Access::kReadWrite;
  Guard guard = Guard::kRedZone;
  std::uint32_t alignment = 256;  ///< of the start; a power of two
  std::uint32_t skew =
      0;               ///< extra offset, a multiple of the alignment that the family declares (place.vary)
  std::string name{};  ///< for messages, e.g. "`x`"; empty: none
};

struct BufferRef {
  BufferId buffer{};
  std::uint64_t offset = 0;
};
struct NullPointer {};

/// A TMA descriptor of a contiguous tensor, passed by value (128 bytes). Sizes and box in elements, innermost
/// last; they have the same rank, 1 to 5.
struct TensorMap {
  BufferRef at;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint32_t> box;
  int swizzle_bytes = 0;
};
using Arg = std::variant<BufferRef, NullPointer, TensorMap, std::int32_t, std::int64_t, float, double>;

struct Launch {
  ModuleId module{};
  std::uint32_t entry = 0;  ///< index into Binary::entries
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::vector<Arg> args;
};

/// Sets bytes to a repeated value, on the device (zeroed workspaces, cheap poison).
struct Fill {
  BufferRef at;
  std::uint64_t bytes = 0;
  std::uint32_t pattern = 0;  ///< repeated 4-byte word
};

/// Destroys what may linger between launches: shared and local memory (scrubbing kernels), L2 (read flush).
struct Scrub {
  enum class What { kSharedAndLocal, kL2 } what = What::kSharedAndLocal;
};

using Step = std::variant<Launch, Fill, Scrub>;

/// A misbehaviour of a launch.
struct Fault {
  FailureKind kind = FailureKind::kCrash;  ///< crash, timeout, out_of_bounds, race, uninitialised, ...
  std::string check;                       ///< id of HARNESS.md, e.g. "checked.race", "fault"
  std::string message;                     ///< with the kernel's line and the thread, where known
  std::size_t step = 0;                    ///< index of the step that failed
};

struct RunOutcome {
  std::optional<Fault> fault;
};

/// One round: preparation (untimed, trusted), the timed launches, verification (untimed, trusted).
struct Round {
  std::vector<Step> before;
  std::vector<Step> timed;  ///< launches of ONE module's candidate and the fills of its zeroed workspaces
  std::uint32_t repeats =
      1;  ///< candidate executions that `timed` holds (rotating sets): the divisor of the time
  std::vector<Step> after;
};

struct RoundTime {
  double us = 0;  ///< device time of one execution: elapsed / repeats, launch cost of the batch subtracted
  double wall_us = 0;    ///< host wall time of the timed part, whole batch
  double clock_mhz = 0;  ///< 0: unknown
  bool throttled = false;
};

struct TimeOutcome {
  std::vector<RoundTime> rounds;  ///< of the rounds that ended
  std::optional<Fault> fault;
};

struct GuardReport {
  std::optional<std::string> violation;  ///< which buffer, which side, how far
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual bool usable() const = 0;

  /// A trusted module runs with access to every buffer, a candidate isolated as the device can.
  virtual Result<ModuleId> load(const Binary& binary, Trust trust) = 0;
  virtual void unload(ModuleId module) = 0;

  /// kEnvironment when the memory does not fit; nothing is allocated then.
  virtual Result<BufferId> allocate(const BufferSpec& spec) = 0;
  virtual void free(BufferId buffer) = 0;
  virtual Status write(BufferRef to, std::span<const std::byte> bytes) = 0;
  virtual Status read(BufferRef from, std::span<std::byte> bytes) = 0;

  /// Runs steps in order; the deadline is for all of them. Inputs are written by trusted launches only.
  virtual Result<RunOutcome> run(std::span<const Step> steps, std::chrono::milliseconds deadline) = 0;

  /// Runs rounds one after another. `deadline` is for each round's timed part; the whole stops early, after a
  /// round, when `budget` is spent (at least `min_rounds` are run).
  struct TimeLimits {
    std::chrono::milliseconds deadline{10'000};
    std::chrono::milliseconds budget{300};
    std::size_t min_rounds = 5;
  };
  virtual Result<TimeOutcome> time(std::span<const Round> rounds, const TimeLimits& limits) = 0;

  /// Compares all red zones (and hashes of read-only inputs where they cannot be mapped so).
  virtual Result<GuardReport> check_guards() = 0;
};

}  // namespace ak::device
