#pragma once
// The gate: the one way by which a kernel is kept. The full verdict in a fresh worker with fresh seeds, timed
// against what there is in A B B A rounds, decided by the keep rule. `tune` sends its winner through it,
// `record` an edited file.
//
//   Gate gate(parts, target, threshold);
//   AK_TRY(start, known_start(parts, target, tag, "kernel.cu"));
//   AK_TRY(judgement, gate.judge(candidate, start->kernel, start->experiment.id));
//   if (judgement.decision == Decision::kKept) ...

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/base/random.h"
#include "autokernel/campaign/parts.h"
#include "autokernel/core/experiment.h"
#include "autokernel/harness/job.h"

namespace ak::campaign {

struct Judgement {
  Decision decision = Decision::kFailed;  ///< kFailed: the verdict is not passed
  Verdict verdict;
  std::optional<Comparison> comparison;  ///< over all primary problems; nullopt when it failed
  TimeEstimate time;                     ///< of the objective
  std::string summary;                   ///< one line for the ledger
};

class Gate {
 public:
  /// `parts` and `target` must outlive the gate.
  Gate(const Parts& parts, const Target& target, double threshold)
      : parts_(parts), target_(target), threshold_(threshold), rng_(secret_seed()) {}

  /// Every stage on every problem of the target, with PyTorch's known times; timed against `incumbent` if
  /// there is one, for `time_budget_s` a problem.
  Result<Verdict> full_verdict(const harness::CandidateText& candidate,
                               const std::optional<harness::CandidateText>& incumbent,
                               double time_budget_s = harness::Job{}.time_budget_s);
  /// Decides by the keep rule. An interval that is too wide to decide is measured once more with more rounds.
  /// On devices whose caches cannot be made cold it keeps only what is faster in both roles, in two workers.
  Result<Judgement> judge(const harness::CandidateText& candidate, const harness::CandidateText& incumbent,
                          std::int64_t incumbent_experiment);
  /// Where there is nothing that passes to compare it with: a start, or failed.
  Result<Judgement> judge_alone(const harness::CandidateText& candidate);

 private:
  Result<bool> holds_in_exchanged_roles(const harness::CandidateText& candidate,
                                        const harness::CandidateText& incumbent);

  const Parts& parts_;
  const Target& target_;
  double threshold_;
  Rng rng_;  ///< seeds of verdicts; never a search's
};

/// A kernel that was measured on this device for this target: what the next one must beat.
struct Start {
  Experiment experiment;
  harness::CandidateText kernel;
  std::vector<Trial> trials;       ///< of its config
  std::optional<Verdict> verdict;  ///< where it was measured just now
};

/// What earlier experiments of the target and tag kept, or measured as a start; nullopt: nothing, or not on
/// this device, or without a time for some primary problem.
Result<std::optional<Start>> known_start(const Parts& parts, const Target& target, const std::string& tag,
                                         const std::string& kernel_name);

/// Measures a kernel alone and records it: a start if it passes, else a failed experiment.
Result<Start> measure_start(const Parts& parts, Gate& gate, const Target& target, const std::string& tag,
                            harness::CandidateText kernel, const std::string& description);

}  // namespace ak::campaign
