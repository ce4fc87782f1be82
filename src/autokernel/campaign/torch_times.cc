#include "autokernel/campaign/torch_times.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace ak::campaign {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr int kPartOfBudget = 4;
constexpr std::chrono::minutes kMostOfATarget{1};

std::string key_of(const std::string& target, const std::string& device_uuid) {
  return fmt::format("torch/{}/{}", device_uuid, target);
}

/// One target's primary problems.
struct TorchTarget {
  const Target* target;
  std::vector<std::string> ids;
  std::vector<torch::BaselineRequest> requests;
};

std::vector<TorchTarget> with_requests(const Parts& parts, const std::vector<const Target*>& targets) {
  std::vector<TorchTarget> list;
  for (const Target* target : targets) {
    const Result<const op::Family*> family = parts.registry.find(target->op);
    if (!family || (*family)->torch_module.empty()) continue;
    TorchTarget each{target, {}, {}};
    for (const TargetProblem& problem : target->problems) {
      if (problem.role != Role::kPrimary) continue;
      each.ids.push_back(problem.id);
      each.requests.push_back({*family, problem.problem});
    }
    list.push_back(std::move(each));
  }
  return list;
}

/// Whether a deadline is worth trying: a target that was not ready within one is tried again with twice that.
Result<bool> worth_compiling(const ledger::Ledger& ledger, const std::string& key, milliseconds deadline) {
  AK_TRY(tried, ledger.get_state(key));
  return !tried || deadline.count() >= 2 * std::strtoll(tried->c_str(), nullptr, 10);
}

/// torch.compile of one target; what is not ready is remembered, so that the next run does not lose the time
/// again.
Status compile_target(const Parts& parts, const TorchTarget& target, milliseconds deadline) {
  ledger::Ledger& ledger = parts.workspace.ledger();
  const std::string key = key_of(target.target->id, parts.pool.hello().device.uuid) + "/not_compiled_in_ms";
  AK_TRY(worth, worth_compiling(ledger, key, deadline));
  if (!worth) return {};
  AK_TRY(times, parts.baselines->measure_within(target.requests, torch::Paths::kAll, deadline));
  const bool ready =
      std::all_of(times.begin(), times.end(), [](const auto& each) { return each.has_value(); });
  if (ready) return {};
  parts.log.info("torch.compile is not timed on {}: not ready in {:.0f} s", target.target->id,
                 std::chrono::duration<double>(deadline).count());
  return ledger.set_state(key, std::to_string(deadline.count()));
}

Status measure_all(const Parts& parts, const std::vector<TorchTarget>& targets, const TorchBudget& budget,
                   const std::atomic<bool>& stop) {
  const auto begin = parts.clock.now();
  const auto left = [&] { return budget.all - duration_cast<milliseconds>(parts.clock.now() - begin); };
  std::vector<torch::BaselineRequest> requests;
  for (const TorchTarget& each : targets)
    requests.insert(requests.end(), each.requests.begin(), each.requests.end());
  parts.log.info("timing PyTorch on {} problems, eager and fused", requests.size());
  AK_TRY_VOID(parts.baselines->measure_within(requests, torch::Paths::kEager, budget.all));
  for (std::size_t i = 0; i < targets.size() && !stop.load(); ++i) {
    const milliseconds share = left() / static_cast<long>(targets.size() - i);
    const milliseconds deadline = std::min(budget.target, share);
    if (deadline < budget.least) {
      parts.log.info("torch.compile is not timed on {} of {} targets: their part of the budget is too small",
                     targets.size() - i, targets.size());
      break;
    }
    AK_TRY_VOID(compile_target(parts, targets[i], deadline));
  }
  return {};
}

Status store(const Parts& parts, const TorchTarget& target) {
  TorchTimes times;
  for (std::size_t i = 0; i < target.requests.size(); ++i) {
    AK_TRY(known, parts.baselines->find(*target.requests[i].family, target.requests[i].problem));
    if (known) times.emplace(target.ids[i], std::move(*known));
  }
  if (times.empty()) return {};
  return store_torch_times(parts.workspace.ledger(), target.target->id, parts.pool.hello().device.uuid,
                           times);
}

}  // namespace

TorchBudget torch_budget(std::optional<std::chrono::seconds> campaign, std::size_t targets) {
  const milliseconds most = kMostOfATarget * static_cast<long>(std::max<std::size_t>(1, targets));
  const milliseconds all =
      campaign ? std::min(most, duration_cast<milliseconds>(*campaign) / kPartOfBudget) : most;
  return {.all = all, .target = std::min<milliseconds>(kMostOfATarget, all)};
}

void measure_torch_times(const Parts& parts, const std::vector<const Target*>& targets,
                         const TorchBudget& budget, const std::atomic<bool>& stop) {
  if (parts.baselines == nullptr) return;
  const std::vector<TorchTarget> wanted = with_requests(parts, targets);
  if (wanted.empty()) return;
  const Status measured = measure_all(parts, wanted, budget, stop);
  if (!measured) parts.log.warning("nothing is compared with PyTorch: {}", measured.error().message);
  for (const TorchTarget& each : wanted) {
    const Status stored = store(parts, each);
    if (!stored) parts.log.warning("PyTorch's times of {}: {}", each.target->id, stored.error().message);
  }
}

Result<TorchTimes> torch_times(const ledger::Ledger& ledger, const std::string& target,
                               const std::string& device_uuid) {
  TorchTimes times;
  AK_TRY(text, ledger.get_state(key_of(target, device_uuid)));
  if (!text) return times;
  const std::string what = fmt::format("ledger, PyTorch's times of {}", target);
  AK_TRY(json, parse_json(*text, what));
  for (const auto& [problem, each] : json.items()) {
    AK_TRY(baseline, torch::baseline_from_json(each, what));
    times.emplace(problem, std::move(baseline));
  }
  return times;
}

Status store_torch_times(ledger::Ledger& ledger, const std::string& target, const std::string& device_uuid,
                         const TorchTimes& times) {
  Json json = Json::object();
  for (const auto& [problem, baseline] : times) json[problem] = torch::to_json(baseline);
  return ledger.set_state(key_of(target, device_uuid), json.dump());
}

}  // namespace ak::campaign
