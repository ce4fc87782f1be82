#pragma once
// Which ref an experiment belongs under, as the ledger sees it.

#include <string>
#include <vector>

#include "autokernel/core/experiment.h"

namespace ak::ledger {

/// A start and a kept experiment are what the next one is compared with.
inline bool advances_branch(Decision decision) {
  return decision == Decision::kStart || decision == Decision::kKept;
}

/// refs/heads/autokernel/<tag>, or refs/autokernel/rejected/<N>.
inline std::string ref_of(const Experiment& experiment) {
  return advances_branch(experiment.decision) ? "refs/heads/autokernel/" + experiment.tag
                                              : "refs/autokernel/rejected/" + std::to_string(experiment.id);
}

/// Commit of the last experiment before `id` that advanced the branch; empty when there is none. `of_tag` are
/// the experiments of one tag, by number.
inline std::string branch_head(const std::vector<Experiment>& of_tag, std::int64_t id) {
  std::string head;
  for (const Experiment& experiment : of_tag) {
    if (experiment.id < id && advances_branch(experiment.decision)) head = experiment.commit;
  }
  return head;
}

}  // namespace ak::ledger
