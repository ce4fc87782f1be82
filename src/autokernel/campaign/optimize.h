#pragma once
// The campaign over the targets of a plan: the next target of the queue is tuned for a while, kept or
// reverted, and the queue asked again, until its rules leave every target, the budget ends or the user stops
// it. Everything is in the ledger: the same call goes on after a kill.

#include <functional>
#include <string>
#include <vector>

#include "autokernel/campaign/queue.h"
#include "autokernel/campaign/tune.h"

namespace ak::campaign {

struct OptimizeTarget {
  QueueEntry entry;
  Target target;
  std::string kernel_name, kernel_text;  ///< what it starts from
};

struct OptimizeRequest {
  std::vector<OptimizeTarget> targets;
  MoveOnRules rules;
  std::string tag = "optimize";
  std::string strategy = "annealing";
  ledger::Budget budget;  ///< of the whole campaign: time, configs or both
  std::uint64_t seed = 1;
  double threshold = 0.01;
};

struct OptimizedTarget {
  QueuedTarget state;
  std::string kernel_path;                    ///< the workspace's kernel.cu
  std::optional<Failure> start_failure;       ///< its kernel file does not pass: nothing was searched
  std::optional<std::string> error;           ///< nothing could be measured, e.g. it does not fit the device
  double wall_s = 0;                          ///< of this call
  std::map<std::string, std::size_t> failed;  ///< kinds of failures of this call's configs
};

struct OptimizeResult {
  std::vector<OptimizedTarget> targets;  ///< in the order of the queue at the end
  std::string stop_reason;
  std::size_t experiments = 0;  ///< of this call
  bool interrupted = false;
  double wall_s = 0;
  DeviceInfo device;
};

/// Called when a target's turn begins, and after each config.
struct OptimizeProgress {
  const QueuedTarget& target;
  double slice_s = 0;  ///< planned for this turn; 0: counted in configs
  const TuneProgress* config = nullptr;
};
using OptimizeObserver = std::function<void(const OptimizeProgress&)>;

Result<OptimizeResult> optimize(const Parts& parts, const std::atomic<bool>& stop,
                                const OptimizeRequest& request, const OptimizeObserver& observer);

}  // namespace ak::campaign
