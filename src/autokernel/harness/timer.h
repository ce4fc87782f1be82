#pragma once
// Timed rounds (DESIGN section 6): rotating input/output sets whose contents change every round, poisoned
// outputs, nothing but candidate launches in the timed part, every output compared afterwards. Candidate
// alone, or against the incumbent in A B B A order. Where an execution takes more than a millisecond of a
// device whose caches are flushed, a round is one execution and the sets take turns.

#include <memory>
#include <optional>
#include <vector>

#include "autokernel/core/verdict.h"
#include "autokernel/harness/verifier.h"

namespace ak::harness {

struct TimedRounds {
  std::vector<double> candidate_us, incumbent_us;  ///< per round; paired when there is an incumbent
  std::vector<double> cold_us;                     ///< single launches after a read flush
  std::vector<double> incumbent_cold_us;           ///< the same of the incumbent
  std::vector<std::string> flags;
  std::uint64_t footprint_bytes = 0;  ///< of all rotating sets
  std::uint64_t execution_bytes = 0;  ///< inputs, outputs and workspaces of one execution
  std::size_t sets = 0;
};

struct TimeRequest {
  const Problem& problem;
  const op::Draw& draw;
  const Prepared& candidate;
  const Prepared* incumbent = nullptr;
  double budget_s = 0.3;
};

using TimedOutcome = std::variant<TimedRounds, Failure>;

/// Fails (as data) when an output of any timed round is wrong (time.rotate) or a launch faults.
Result<TimedOutcome> time_candidate(Context& context, References& references, const TimeRequest& request);

}  // namespace ak::harness
