#include "autokernel/campaign/optimize.h"

#include <algorithm>
#include <cmath>

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/campaign/torch_times.h"
#include "autokernel/op/target_file.h"

namespace ak::campaign {
namespace {

constexpr double kShortestTurn = 5;          ///< seconds: less finds nothing
constexpr std::size_t kConfigsOfATurn = 40;  ///< where the budget is counted in configs

class Campaign {
 public:
  Campaign(const Parts& parts, const std::atomic<bool>& stop, const OptimizeRequest& request,
           const OptimizeObserver& observer)
      : parts_(parts), stop_(stop), request_(request), observer_(observer), begin_(parts.clock.now()) {
    for (const OptimizeTarget& target : request.targets) {
      OptimizedTarget state;
      state.state.entry = target.entry;
      states_.push_back(std::move(state));
    }
  }

  Result<OptimizeResult> run() {
    result_.device = parts_.pool.hello().device;
    measure_baselines();
    while (result_.stop_reason.empty()) {
      AK_TRY(queue, load());
      const QueuedTarget* next = queue.next();
      const std::optional<ledger::Budget> turn = next_turn(queue.open());
      if (stop_.load()) {
        result_.stop_reason = "interrupted";
      } else if (next == nullptr) {
        result_.stop_reason = "every target was left by the move-on rules";
      } else if (!turn) {
        result_.stop_reason = "the budget is spent";
      } else {
        AK_TRY_VOID(take_turn(*next, *turn));
      }
    }
    result_.interrupted = stop_.load();
    AK_TRY(queue, load());
    order_by(queue);
    result_.wall_s = seconds_between(begin_, parts_.clock.now());
    return std::move(result_);
  }

 private:
  /// Before any kernel is timed, since PyTorch wants the device for itself.
  void measure_baselines() {
    std::vector<const Target*> targets;
    for (const OptimizeTarget& target : request_.targets) targets.push_back(&target.target);
    measure_torch_times(parts_, targets, torch_budget(request_.budget.time, targets.size()), stop_);
  }

  /// Without the targets that cannot be measured at all.
  Result<Queue> load() {
    std::vector<QueueEntry> entries;
    for (OptimizedTarget& each : states_) {
      if (each.start_failure || each.error) continue;
      each.state.entry.kernel_hash = kernel_hash(each.state.entry);
      entries.push_back(each.state.entry);
    }
    return Queue::load(parts_.workspace.ledger(), entries, request_.rules, result_.device.uuid, request_.tag);
  }

  /// Of kernel.cu as it is now; a rehearsal has one from its first trial on.
  std::string kernel_hash(const QueueEntry& entry) const {
    const Result<std::string> text = parts_.workspace.kernel_text(entry.id);
    return text ? content_hash(*text) : entry.kernel_hash;
  }

  /// The part of the budget that the next target gets: an equal share of what is left. nullopt: nothing is.
  std::optional<ledger::Budget> next_turn(std::size_t open) const {
    ledger::Budget turn;
    const double parts = static_cast<double>(std::max<std::size_t>(1, open));
    if (request_.budget.time) {
      const double left =
          static_cast<double>(request_.budget.time->count()) - seconds_between(begin_, parts_.clock.now());
      if (left <= 0) return std::nullopt;
      const double seconds = std::min(left, std::max(kShortestTurn, left / parts));
      turn.time = std::chrono::seconds(std::max<long>(1, std::lround(seconds)));
    }
    if (request_.budget.trials) {
      if (trials_ >= *request_.budget.trials) return std::nullopt;
      turn.trials = std::min(*request_.budget.trials - trials_, kConfigsOfATurn);
    }
    return turn;
  }

  Status take_turn(const QueuedTarget& next, const ledger::Budget& turn) {
    const auto which = std::find_if(request_.targets.begin(), request_.targets.end(),
                                    [&](const OptimizeTarget& it) { return it.entry.id == next.entry.id; });
    OptimizedTarget& state = states_[static_cast<std::size_t>(which - request_.targets.begin())];
    AK_TRY(unrecorded, has_unrecorded_edit(next.entry.id));
    if (unrecorded) {
      state.error = fmt::format(
          "its kernel.cu was edited and not recorded: left alone. `autokernel record --target {}` measures "
          "the edit",
          next.entry.id);
      parts_.log.warning("{}: {}", next.entry.id, *state.error);
      return {};
    }
    AK_TRY(tune, tune_request(*which, next, turn));
    observer_({next, turn.time ? static_cast<double>(turn.time->count()) : 0, nullptr});
    Tuner tuner(parts_, stop_);
    const auto begin = parts_.clock.now();
    Result<TuneResult> tuned = tuner.run(tune, [&](const TuneProgress& now) {
      ++trials_;
      observer_({next, 0, &now});
    });
    state.wall_s += seconds_between(begin, parts_.clock.now());
    if (!tuned && tuned.error().code == ErrorCode::kInternal) return tl::unexpected(std::move(tuned).error());
    ++result_.experiments;
    if (!tuned) {  // of this target alone: too large for the device, [defaults] that are invalid here
      parts_.log.warning("{}: {}", next.entry.id, tuned.error().message);
      state.error = tuned.error().message;
      return {};
    }
    state.kernel_path = tuned->kernel_path;
    state.start_failure = tuned->start_failure;
    for (const auto& [kind, count] : tuned->failed) state.failed[kind] += count;
    if (tuned->every_config_measured)
      AK_TRY_VOID(mark_exhausted(parts_.workspace.ledger(), next.entry.id, request_.tag, result_.device.uuid,
                                 kernel_hash(next.entry)));
    return {};
  }

  /// Before its first experiment an edited kernel.cu is simply what the search starts from.
  Result<bool> has_unrecorded_edit(const std::string& id) const {
    AK_TRY(incumbent, parts_.workspace.ledger().incumbent(id, request_.tag));
    if (!incumbent) return false;
    const Result<std::string> now = parts_.workspace.kernel_text(id);
    AK_TRY(before, parts_.workspace.unedited_kernel(id));
    return now && before && *now != *before;
  }

  /// A turn that a kill interrupted is taken up with its own seed; any other proposes afresh.
  Result<TuneRequest> tune_request(const OptimizeTarget& target, const QueuedTarget& next,
                                   const ledger::Budget& turn) {
    TuneRequest tune;
    tune.tag = request_.tag;
    tune.target = target.target;
    tune.target_toml = op::format_target(target.target);
    tune.kernel_name = target.kernel_name;
    Result<std::string> current = parts_.workspace.kernel_text(target.entry.id);
    tune.kernel_text = current ? *current : target.kernel_text;
    tune.strategy = request_.strategy;
    tune.budget = turn;
    tune.threshold = request_.threshold;
    tune.seed = request_.seed + next.reached.experiments;
    AK_TRY(unfinished, parts_.workspace.ledger().unfinished({target.entry.id, request_.tag}));
    if (!unfinished.empty()) tune.seed = unfinished.back().seed;
    return tune;
  }

  void order_by(const Queue& queue) {
    for (const QueuedTarget& queued : queue.targets()) {
      for (OptimizedTarget& state : states_) {
        if (state.state.entry.id != queued.entry.id) continue;
        state.state = queued;
        result_.targets.push_back(std::move(state));
        break;
      }
    }
    for (OptimizedTarget& state : states_) {
      if (state.start_failure || state.error) result_.targets.push_back(std::move(state));
    }
  }

  Parts parts_;
  const std::atomic<bool>& stop_;
  const OptimizeRequest& request_;
  const OptimizeObserver& observer_;
  std::chrono::steady_clock::time_point begin_;
  std::size_t trials_ = 0;
  std::vector<OptimizedTarget> states_;  ///< in the order of the request
  OptimizeResult result_;
};

}  // namespace

Result<OptimizeResult> optimize(const Parts& parts, const std::atomic<bool>& stop,
                                const OptimizeRequest& request, const OptimizeObserver& observer) {
  Campaign campaign(parts, stop, request, observer);
  return campaign.run();
}

}  // namespace ak::campaign
