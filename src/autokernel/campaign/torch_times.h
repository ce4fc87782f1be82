#pragma once
// PyTorch's own times of a campaign's targets: measured once, before any kernel, within a part of the
// campaign's budget, and kept in the ledger, so that reports need neither PyTorch nor a GPU.

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/campaign/parts.h"

namespace ak::campaign {

/// How long PyTorch may take in all, and torch.compile for one target.
struct TorchBudget {
  std::chrono::milliseconds all{0};
  std::chrono::milliseconds target{0};
  /// torch.compile is left out below: PyTorch's own start and a compile take this at the least.
  std::chrono::milliseconds least{std::chrono::seconds(20)};
};
/// A quarter of the campaign's time, at most a minute a target; a minute a target where it is counted in
/// configs.
TorchBudget torch_budget(std::optional<std::chrono::seconds> campaign, std::size_t targets);

/// By the id of the primary problem.
using TorchTimes = std::map<std::string, torch::Baseline>;

/// First eager and fused of all targets, then torch.compile target by target while there is time. What cannot
/// be measured is said in the log: nothing is compared with PyTorch then.
void measure_torch_times(const Parts& parts, const std::vector<const Target*>& targets,
                         const TorchBudget& budget, const std::atomic<bool>& stop);

/// What the ledger knows of a target on this device; empty: nothing.
Result<TorchTimes> torch_times(const ledger::Ledger& ledger, const std::string& target,
                               const std::string& device_uuid);

Status store_torch_times(ledger::Ledger& ledger, const std::string& target, const std::string& device_uuid,
                         const TorchTimes& times);

}  // namespace ak::campaign
