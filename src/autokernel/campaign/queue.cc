#include "autokernel/campaign/queue.h"

#include <algorithm>

namespace ak::campaign {
namespace {

/// A target that was left for want of progress is tried again once its share of the time has grown by this
/// factor, because others became faster.
constexpr double kRevisitGrowth = 1.5;

std::string exhausted_key(const std::string& target, const std::string& tag, const std::string& device) {
  return fmt::format("queue/{}/{}/exhausted/{}", tag, target, device);
}

/// Sums over the primary problems of the target, from the incumbent's full verdict.
void add_verdict(const Verdict& verdict, const Target& target, Reached& reached) {
  double floor = 0, baseline = 0, time = 0;
  bool floors = true, baselines = true;
  for (const TargetProblem& each : target.problems) {
    if (each.role != Role::kPrimary) continue;
    const auto timing = std::find_if(verdict.timings.begin(), verdict.timings.end(),
                                     [&](const Timing& it) { return it.problem_id == each.id; });
    if (timing == verdict.timings.end()) return;
    floors = floors && timing->floor_us.has_value();
    baselines = baselines && timing->baseline_us.has_value();
    time += each.calls * timing->time.median_us;
    floor += each.calls * timing->floor_us.value_or(0);
    baseline += each.calls * timing->baseline_us.value_or(0);
  }
  if (time > 0) reached.incumbent_us = time;
  if (floors) reached.floor_us = floor;
  if (baselines) reached.baseline_us = baseline;
}

Result<Reached> reached_by(const ledger::Ledger& ledger, const QueueEntry& entry,
                           const std::string& device_uuid, const std::string& tag) {
  Reached reached;
  const std::string& id = entry.id;
  AK_TRY(experiments, ledger.experiments({id, tag}));
  std::optional<std::int64_t> incumbent;
  for (const Experiment& each : experiments) {
    AK_TRY(context, ledger.context(each.id));
    if (context.device.uuid != device_uuid) continue;
    AK_TRY(trials, ledger.trials(each.id));
    reached.trials += trials.size();
    for (const Trial& trial : trials) reached.hours += (trial.wall_s + trial.compile_s) / 3600;
    if (each.decision == Decision::kRunning) {
      reached.unfinished = trials.size();
      continue;
    }
    reached.last = each.decision;
    reached.last_description = each.description;
    ++reached.experiments;
    if (each.proposer != kStartProposer && each.proposer != kEditProposer) ++reached.searches;
    if (each.decision == Decision::kStart) {
      reached.start_us = each.objective_us;
      reached.speedup = 1;
      reached.reverts = 0;
      reached.config = each.best_config;
      incumbent = each.id;
    } else if (each.decision == Decision::kKept) {
      reached.speedup *= each.confirmation ? each.confirmation->ratio : 1;
      reached.reverts = 0;
      reached.config = each.best_config;
      incumbent = each.id;
    } else {
      ++reached.reverts;
    }
  }
  if (reached.start_us) reached.best_us = *reached.start_us / reached.speedup;
  AK_TRY(exhausted, ledger.get_state(exhausted_key(id, tag, device_uuid)));
  reached.exhausted = exhausted && *exhausted == entry.kernel_hash;
  if (!incumbent) return reached;
  AK_TRY(verdict, ledger.verdict(*incumbent));
  AK_TRY(target, ledger.target(id));
  if (verdict) add_verdict(*verdict, target, reached);
  return reached;
}

/// Device time of the whole model as profiled; 0: not known.
double model_time(const std::vector<QueueEntry>& entries) {
  for (const QueueEntry& entry : entries) {
    if (entry.model_share > 0) return entry.model_us / entry.model_share;
  }
  return 0;
}

/// Progress that other targets' gains could make worthwhile again.
bool is_final(const Reached& reached, const MoveOnRules& rules) {
  MoveOnRules lasting = rules;
  lasting.reverts = SIZE_MAX;
  lasting.target_hours = 1e18;
  return moves_on(reached, lasting).has_value();
}

}  // namespace

MoveOnRules MoveOnRules::from(const ledger::Settings& settings) {
  return {static_cast<std::size_t>(settings.get_count("move_on.reverts")),
          settings.get_number("move_on.floor_fraction"), settings.get_number("move_on.target_hours"),
          settings.get_number("move_on.speedup")};
}

std::optional<std::string> moves_on(const Reached& reached, const MoveOnRules& rules) {
  if (reached.exhausted) return "every valid config of its kernel file was measured";
  if (reached.reverts >= rules.reverts)
    return fmt::format("{} experiments in a row were not kept (limit {})", reached.reverts, rules.reverts);
  if (reached.floor_us && reached.best_us && *reached.floor_us / *reached.best_us >= rules.floor_fraction)
    return fmt::format("at {:.0f} % of its floor on this device (limit {:.0f} %)",
                       100 * *reached.floor_us / *reached.best_us, 100 * rules.floor_fraction);
  if (reached.hours >= rules.target_hours)
    return fmt::format("{:.2f} h were spent on it (limit {:g} h)", reached.hours, rules.target_hours);
  if (reached.baseline_us && reached.best_us && *reached.baseline_us / *reached.best_us >= rules.speedup)
    return fmt::format("{:.2f}x over the fastest PyTorch baseline (limit {:g}x)",
                       *reached.baseline_us / *reached.best_us, rules.speedup);
  return std::nullopt;
}

Result<Queue> Queue::load(const ledger::Ledger& ledger, const std::vector<QueueEntry>& entries,
                          const MoveOnRules& rules, const std::string& device_uuid, const std::string& tag) {
  Queue queue;
  double before = 0, gained = 0;
  for (const QueueEntry& entry : entries) {
    QueuedTarget target;
    target.entry = entry;
    AK_TRY(reached, reached_by(ledger, entry, device_uuid, tag));
    target.reached = reached;
    target.now_us = std::max(entry.model_floor_us, entry.model_us / reached.speedup);
    before += entry.model_us;
    gained += entry.model_us - target.now_us;
    queue.targets_.push_back(std::move(target));
  }
  before = std::max(before, model_time(entries));
  const double now = before - gained;
  for (QueuedTarget& target : queue.targets_) {
    target.share = now > 0 ? target.now_us / now : 0;
    target.moved_on = moves_on(target.reached, rules);
    const double share_before = before > 0 ? target.entry.model_us / before : 0;
    const bool grown = target.share >= kRevisitGrowth * share_before;
    if (target.moved_on && grown && !is_final(target.reached, rules) &&
        target.reached.reverts < 2 * rules.reverts && target.reached.hours < 2 * rules.target_hours) {
      target.moved_on.reset();
    }
  }
  std::stable_sort(queue.targets_.begin(), queue.targets_.end(),
                   [](const QueuedTarget& a, const QueuedTarget& b) {
                     const double gain_a = a.now_us - a.entry.model_floor_us;
                     const double gain_b = b.now_us - b.entry.model_floor_us;
                     if (a.moved_on.has_value() != b.moved_on.has_value()) return b.moved_on.has_value();
                     const bool new_a = a.reached.searches == 0, new_b = b.reached.searches == 0;
                     if (new_a != new_b) return new_a;
                     return gain_a > gain_b;
                   });
  return queue;
}

const QueuedTarget* Queue::next() const {
  return !targets_.empty() && !targets_.front().moved_on ? &targets_.front() : nullptr;
}

std::size_t Queue::open() const {
  return static_cast<std::size_t>(std::count_if(targets_.begin(), targets_.end(),
                                                [](const QueuedTarget& target) { return !target.moved_on; }));
}

Status mark_exhausted(ledger::Ledger& ledger, const std::string& target, const std::string& tag,
                      const std::string& device_uuid, const std::string& kernel_hash) {
  return ledger.set_state(exhausted_key(target, tag, device_uuid), kernel_hash);
}

}  // namespace ak::campaign
