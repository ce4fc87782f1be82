#pragma once
// Which target next: the targets of a plan in the order of Amdahl's law, with what the ledger says was
// reached on this device, and the rules by which the campaign moves on. Nothing is kept here: the same ledger
// gives the same queue, so that a killed run goes on where it was and two callers see one order.
//
//   AK_TRY(queue, Queue::load(workspace.ledger(), entries, rules, device_uuid, tag));
//   if (const QueuedTarget* next = queue.next()) tune(next->id);

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/ledger/ledger.h"
#include "autokernel/ledger/settings.h"

namespace ak::campaign {

/// DESIGN section 10; the settings `move_on.*`.
struct MoveOnRules {
  std::size_t reverts = 5;      ///< experiments in a row that were not kept
  double floor_fraction = 0.9;  ///< floor / best time, both of the objective on this device
  double target_hours = 2;      ///< measured time of this target's trials on this device
  double speedup = 2;           ///< fastest PyTorch baseline of this device / best time
  static MoveOnRules from(const ledger::Settings& settings);
};

/// What was reached on one target, from the ledger.
struct Reached {
  std::size_t experiments = 0;  ///< those of the start included
  std::size_t searches = 0;     ///< without starts and recorded edits
  std::size_t trials = 0;
  std::size_t reverts = 0;  ///< in a row, since the last kept one
  double hours = 0;
  std::optional<std::size_t> unfinished;  ///< trials of a search that has no decision yet, or never got one
  double speedup = 1;                     ///< of the incumbent over the start: the confirmed ratios' product
  std::optional<double> start_us, best_us;  ///< the objective; best is start / speedup, free of drift
  std::optional<double> floor_us, baseline_us;
  std::optional<double> incumbent_us;  ///< the objective of the incumbent as its full verdict measured it
  std::optional<Config> config;        ///< the incumbent's
  std::optional<Decision> last;        ///< how the last experiment ended
  std::string last_description;
  bool exhausted = false;  ///< every valid config of its kernel file, as it is now, was measured here
};

/// Why the campaign leaves a target, e.g. "5 reverts in a row (limit 5)"; nullopt: it stays.
std::optional<std::string> moves_on(const Reached& reached, const MoveOnRules& rules);

/// A target of the plan.
struct QueueEntry {
  std::string id;             ///< of the target in the ledger
  std::string site;           ///< of the plan
  std::string label;          ///< its problem
  double model_us = 0;        ///< time of the site in the model, as profiled
  double model_floor_us = 0;  ///< 0: not known
  std::string kernel_hash;    ///< of kernel.cu as it is now
  double model_share = 0;     ///< of the model's device time, as profiled; 0: not known
  double calls = 1;           ///< that `model_us` and the objective are of
  std::string reduced;        ///< the smaller problem that is measured here; empty: `label` itself
};

struct QueuedTarget {
  QueueEntry entry;
  Reached reached;
  std::optional<std::string> moved_on;
  double now_us = 0;  ///< the site's time with what was kept: model_us / speedup, not below its floor
  double share = 0;   ///< of the model's device time now: shares move when one of them gets faster
};

class Queue {
 public:
  static Result<Queue> load(const ledger::Ledger& ledger, const std::vector<QueueEntry>& entries,
                            const MoveOnRules& rules, const std::string& device_uuid, const std::string& tag);
  /// Targets that no search has touched, then the others, each in the order of what is left to gain; those
  /// that were left come last.
  const std::vector<QueuedTarget>& targets() const { return targets_; }
  const QueuedTarget* next() const;  ///< nullptr: every target was left
  std::size_t open() const;

 private:
  std::vector<QueuedTarget> targets_;
};

/// Remembers that a search measured every config of the kernel file with this hash on this device. Another
/// file, such as an edit of it, opens the target again.
Status mark_exhausted(ledger::Ledger& ledger, const std::string& target, const std::string& tag,
                      const std::string& device_uuid, const std::string& kernel_hash);

}  // namespace ak::campaign
