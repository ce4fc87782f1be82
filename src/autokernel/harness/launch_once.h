#pragma once
// One candidate on one problem, launched in this process with line information: for profilers, sanitizers and
// debuggers. Nothing is compared and nothing is timed.

#include <cstdint>
#include <optional>

#include "autokernel/base/clock.h"
#include "autokernel/harness/context.h"
#include "autokernel/harness/job.h"

namespace ak::harness {

struct LaunchOnce {
  const Problem& problem;
  const CandidateText& candidate;
  std::uint64_t seed = 0;  ///< of the inputs
  std::uint32_t repeats = 1;
};

/// Fills the inputs from the family's first timed draw, then launches `repeats` times, each launch on its
/// own. The inputs are filled by kernels of the harness (`ak_generate`), which profilers list before the
/// candidate's own.
Outcome launch_once(device::Device& device, device::Compiler& compiler, const op::Family& family,
                    const Clock& clock, const LaunchOnce& request);

}  // namespace ak::harness
