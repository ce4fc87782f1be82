#pragma once
// What every part of the pipeline works with, for the length of one job.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "autokernel/base/clock.h"
#include "autokernel/base/random.h"
#include "autokernel/core/failure.h"
#include "autokernel/harness/checks.h"
#include "autokernel/harness/trusted_kernels.h"
#include "autokernel/roofline/peaks.h"

namespace ak::harness {

/// nullopt: fine; else why the candidate failed. An Error is the environment's.
using Outcome = Result<std::optional<Failure>>;

/// How much a full verdict may compute; larger sizes are left to larger devices and said so.
struct Limits {
  std::uint64_t max_elements = std::uint64_t{1} << 32;  ///< of all tensors of a problem
  double max_flops = 0x1p46;
  std::uint64_t multi_draw_elements = std::uint64_t{1} << 24;  ///< above: one draw (DESIGN section 6)
  /// Rotating sets of timed rounds: enough to exceed the caches four times, within these bounds.
  std::size_t fewest_sets = 4, most_sets = 4;
  /// What sets and the truth of their contents may take of the device's memory in timed rounds. Where one
  /// truth for each set does not fit, all sets of a round hold the same contents, computed anew for every
  /// group of rounds.
  double timed_memory_share = 0.7;
  /// Groups of timed rounds: at least and at most.
  std::size_t fewest_groups = 3, most_groups = 24;
  std::chrono::milliseconds launch_deadline{10'000};  ///< of one launch
  std::chrono::milliseconds round_deadline{10'000};   ///< of a timed batch
  static Limits for_device(const DeviceInfo& info);
  /// For verdicts with checks off: the sizes that a cheat needs to be seen, and no larger ones.
  Limits small() const;
};

struct Context {
  device::Device& device;
  device::Compiler& compiler;
  TrustedKernels& trusted;
  const op::Family& family;
  const CheckSet& checks;
  const Clock& clock;
  Limits limits;
  Rng seeds;                               ///< from the job's secret seed
  const roofline::Peaks* peaks = nullptr;  ///< of the device; null: measured at each problem's footprint
};

}  // namespace ak::harness
