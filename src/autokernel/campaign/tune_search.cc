#include <algorithm>
#include <cmath>

#include "autokernel/campaign/tune_run.h"
#include "autokernel/harness/harness.h"

namespace ak::campaign {
namespace {

constexpr std::size_t kFullAttempts = 3;  ///< candidates for the full verdict before the start stays

}  // namespace

Status TuneRun::search() {
  search_start_ = parts_.clock.now();
  // On the CPU device a compile would disturb the clock of a trial: compile a batch, then measure it. On a
  // GPU the compiles run while the device measures.
  bool quiet = result_.device.kind == "cpu";
  std::size_t ahead = std::max<std::size_t>(1, parts_.pool.compilers());
  bool exhausted = false;
  while (true) {
    if (std::optional<std::string> reason = should_stop()) {
      result_.stop_reason = *reason;
      return {};
    }
    while (!exhausted && pending_.size() < ahead) {
      AK_TRY(proposed, propose());
      exhausted = !proposed;
    }
    if (pending_.empty()) {
      result_.stop_reason = "every valid config was measured";
      result_.every_config_measured = true;
      return {};
    }
    if (quiet) {
      for (const Pending& each : pending_) {
        for (const auto& compile : each.compiles) compile.wait();
      }
      while (!pending_.empty() && !should_stop()) {
        Pending next = std::move(pending_.front());
        pending_.pop_front();
        AK_TRY_VOID(judge(std::move(next)));
      }
      continue;
    }
    Pending next = std::move(pending_.front());
    pending_.pop_front();
    AK_TRY_VOID(judge(std::move(next)));
  }
}

std::optional<std::string> TuneRun::should_stop() const {
  if (stop_.load()) return "interrupted";
  search::Progress now = progress_;
  now.elapsed_s = earlier_s_ + seconds_between(search_start_, parts_.clock.now());
  return search::first_reached(rules_, now);
}

Result<bool> TuneRun::propose() {
  std::optional<std::size_t> index = strategy_->propose();
  if (!index) return false;
  Pending pending{*index, space_->config(*index), {}};
  harness::Job job = trial_of(pending.config);
  AK_TRY(sources, harness::sources_of(job, parts_.registry, parts_.pool.hello().device));
  for (const Source& source : sources) pending.compiles.push_back(parts_.pool.compile(source));
  pending_.push_back(std::move(pending));
  return true;
}

Status TuneRun::judge(Pending pending) {
  for (const auto& compile : pending.compiles) {
    if (!compile.get()) return tl::unexpected(compile.get().error());
    if (!compile.get()->failure) continue;
    Trial trial;
    trial.config = pending.config;
    trial.problem_id = request_.target.problems.front().id;
    trial.failure = *compile.get()->failure;
    trial.compile_s = compile.get()->seconds;
    return record(pending.index, pending.config, {std::move(trial)}, nullptr);
  }
  harness::Job job = trial_of(pending.config);
  job.seed = rng_.next();
  job.incumbent = opponent_;
  AK_TRY(verdict, parts_.pool.judge(std::move(job), worker::Freshness::kReuse).get());
  std::vector<Trial> trials = trials_of_verdict(verdict, pending.config, experiment_.id, request_.target);
  return record(pending.index, pending.config, std::move(trials), &verdict);
}

Status TuneRun::record(std::size_t index, const Config& config, std::vector<Trial> trials,
                       const Verdict* verdict) {
  AK_TRY(batch, parts_.workspace.ledger().batch());  // all rows of a config, or none
  for (Trial& trial : trials) {
    trial.experiment = experiment_.id;
    AK_TRY(id, verdict != nullptr ? parts_.workspace.ledger().append_trial(trial, *verdict)
                                  : parts_.workspace.ledger().append_failed_trial(trial));
    trial.id = id;
  }
  AK_TRY_VOID(batch.commit());
  TuneProgress report;
  report.config = config;
  report.failure = trials.front().failure;
  remember(index, std::move(trials));
  report.done = progress_.trials;
  double objective = measured_.back().objective_us;
  if (std::isfinite(objective)) report.objective_us = objective;
  report.best_us = progress_.best;
  report.start_us = objective_->start_us();
  if (observer_) observer_(report);
  return {};
}

void TuneRun::remember(std::size_t index, std::vector<Trial> trials) {
  double objective = objective_->of(trials);
  if (trials.front().failure) ++result_.failed[std::string(name(trials.front().failure->kind))];
  progress_.add(objective);
  strategy_->observe(index, objective);
  measured_.push_back({index, objective, std::move(trials)});
  result_.trials = progress_.trials;
}

void TuneRun::find_winners() {
  for (const TargetProblem& each : request_.target.problems) {
    if (each.role != Role::kPrimary) continue;
    std::optional<ProblemWinner> winner;
    double best = 0;
    for (const Measured& measured : measured_) {
      for (const Trial& trial : measured.trials) {
        if (!trial.passed || !trial.time || trial.problem_id != each.id) continue;
        double time = objective_->time_us(trial);
        if (winner && time >= best) continue;
        best = time;
        winner = ProblemWinner{each.id, each.problem, trial.config, *trial.time};
      }
    }
    if (winner) result_.problems.push_back(std::move(*winner));
  }
}

Status TuneRun::decide() {
  find_winners();
  result_.interrupted = stop_.load();
  if (result_.interrupted) return {};  // the experiment stays unfinished: the same command resumes it
  std::vector<Measured> order;
  for (const Measured& each : measured_) {
    if (std::isfinite(each.objective_us)) order.push_back(each);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Measured& a, const Measured& b) { return a.objective_us < b.objective_us; });
  if (order.size() > kFullAttempts) order.resize(kFullAttempts);
  for (const Measured& best : order) {
    AK_TRY(same, is_opponent(space_->config(best.index)));
    if (same) break;  // nothing better was seen
    AK_TRY(decided, confirm(best));
    if (decided) return {};
  }
  return finish(Decision::kReverted, "no config was faster than what there was", file_->text);
}

Result<bool> TuneRun::is_opponent(const Config& config) const {
  if (config != opponent_->config) return false;
  if (file_->text == opponent_->text) return true;
  AK_TRY(text, kernel::with_defaults(*file_, config));
  return text == opponent_->text;
}

Result<bool> TuneRun::confirm(const Measured& best) {
  Config config = space_->config(best.index);
  parts_.log.info("confirming {} in a fresh worker with the full verdict", config.to_string());
  AK_TRY(judgement, gate_.judge({file_->name, file_->text, config}, *opponent_, result_.start_experiment));
  if (judgement.decision == Decision::kFailed) {
    const std::optional<Failure>& failure = judgement.verdict.failure;
    parts_.log.warning("{} {}", config.to_string(), judgement.summary);
    ++result_.failed[failure ? std::string(name(failure->kind)) : "unknown"];
    return false;
  }
  AK_TRY_VOID(parts_.workspace.ledger().attach_verdict(experiment_.id, judgement.verdict));
  result_.confirmation = experiment_.confirmation = judgement.comparison;
  result_.contender = experiment_.best_config = config;
  result_.start_time = judgement.comparison->incumbent;
  std::string text = file_->text;
  if (judgement.decision == Decision::kKept) {
    experiment_.objective_us = judgement.time.median_us;
    result_.best_config = config;
    result_.best_time = judgement.time;
    result_.speedup = judgement.comparison->ratio;
    result_.final_verdict = std::move(judgement.verdict);
    AK_TRY(tuned, kernel::with_defaults(*file_, config));
    text = std::move(tuned);
  }
  AK_TRY_VOID(finish(judgement.decision, judgement.summary, text));
  return true;
}

Status TuneRun::finish(Decision decision, const std::string& description, const std::string& text) {
  experiment_.decision = decision;
  experiment_.description = fmt::format("{}; {} of them measured ({}): {}", experiment_.description,
                                        progress_.trials, result_.stop_reason, description);
  AK_TRY(ended, parts_.workspace.finish(experiment_, text));
  experiment_ = std::move(ended);
  result_.decision = decision;
  return {};
}

}  // namespace ak::campaign
