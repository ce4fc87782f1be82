#include "autokernel/campaign/gate.h"

#include <algorithm>

#include "autokernel/campaign/objective.h"
#include "autokernel/harness/harness.h"

namespace ak::campaign {
namespace {

constexpr double kMoreRounds = 4;  ///< times the usual budget, where the interval was too wide

Decision decision_of(stats::Answer answer) {
  switch (answer) {
    case stats::Answer::kYes:
      return Decision::kKept;
    case stats::Answer::kNo:
      return Decision::kReverted;
    case stats::Answer::kAmbiguous:
      break;
  }
  return Decision::kAmbiguous;
}

/// Messages of compilers have many lines; the ledger's descriptions have one.
std::string reason_of(const std::optional<Failure>& failure) {
  if (!failure) return "failed the full verdict";
  const std::string_view line = std::string_view(failure->message).substr(0, failure->message.find('\n'));
  return fmt::format("failed the full verdict ({}, {}): {}", name(failure->kind), failure->check, line);
}

std::string summary_of(const stats::RatioCI& ratio, std::int64_t incumbent) {
  std::string text =
      fmt::format("{:.3f}x experiment {} (95 % CI {:.3f} to {:.3f}), confirmed in a fresh worker",
                  ratio.ratio, incumbent, ratio.ci_low, ratio.ci_high);
  if (stats::too_wide(ratio)) text += "; undecided: the interval is too wide for its gain";
  return text;
}

}  // namespace

Result<Verdict> Gate::full_verdict(const harness::CandidateText& candidate,
                                   const std::optional<harness::CandidateText>& incumbent,
                                   double time_budget_s) {
  harness::Job job;
  job.target = target_;
  job.candidate = candidate;
  job.incumbent = incumbent;
  job.depth = harness::Depth::kFull;
  job.seed = rng_.next();
  job.time_budget_s = time_budget_s;
  AK_TRY(sources, harness::sources_of(job, parts_.registry, parts_.pool.hello().device));
  AK_TRY(verdict, parts_.pool.compile_and_judge(job, sources, worker::Freshness::kFresh));
  if (parts_.baselines != nullptr) {
    AK_TRY(family, parts_.registry.find(target_.op));
    AK_TRY_VOID(parts_.baselines->annotate(*family, verdict));
  }
  return verdict;
}

Result<Judgement> Gate::judge_alone(const harness::CandidateText& candidate) {
  Judgement judgement;
  AK_TRY(verdict, full_verdict(candidate, std::nullopt));
  judgement.decision = verdict.passed ? Decision::kStart : Decision::kFailed;
  judgement.summary = verdict.passed ? "passes; there was nothing that passes to compare it with"
                                     : reason_of(verdict.failure);
  judgement.time = objective_of_verdict(verdict, target_);
  judgement.verdict = std::move(verdict);
  return judgement;
}

Result<Judgement> Gate::judge(const harness::CandidateText& candidate,
                              const harness::CandidateText& incumbent, std::int64_t incumbent_experiment) {
  Judgement judgement;
  stats::RatioCI ratio;
  const double usual = harness::Job{}.time_budget_s;
  for (const double budget_s : {usual, kMoreRounds * usual}) {
    AK_TRY(verdict, full_verdict(candidate, incumbent, budget_s));
    judgement.verdict = std::move(verdict);
    if (!judgement.verdict.passed) {
      judgement.summary = reason_of(judgement.verdict.failure);
      return judgement;
    }
    AK_TRY(measured, ratio_of_verdict(judgement.verdict, target_, rng_));
    ratio = measured;
    if (!stats::too_wide(ratio)) break;
    parts_.log.info("the times scatter too much to decide (95 % CI {:.3f} to {:.3f}){}", ratio.ci_low,
                    ratio.ci_high, budget_s > usual ? "" : ": measuring again with more rounds");
  }
  judgement.decision = decision_of(stats::is_faster(ratio, threshold_));
  std::string doubt;
  if (judgement.decision == Decision::kKept && !parts_.pool.hello().device.cold_cache) {
    AK_TRY(holds, holds_in_exchanged_roles(candidate, incumbent));
    if (!holds) {
      judgement.decision = Decision::kAmbiguous;
      doubt = "; undecided: in another worker, with the roles exchanged, it was not faster";
    }
  }
  judgement.comparison =
      Comparison{ratio.ratio, ratio.ci_low, ratio.ci_high, incumbent_objective(judgement.verdict, target_)};
  judgement.time = objective_of_verdict(judgement.verdict, target_);
  judgement.summary = summary_of(ratio, incumbent_experiment) + doubt;
  return judgement;
}

/// Where times depend on what the caches hold, two processes that run the same code differ by more than an
/// interval of one of them says, and the side that is allocated first may have the better place.
Result<bool> Gate::holds_in_exchanged_roles(const harness::CandidateText& candidate,
                                            const harness::CandidateText& incumbent) {
  AK_TRY(verdict, full_verdict(incumbent, candidate));
  if (!verdict.passed) return true;  // what there was no longer passes
  AK_TRY(back, ratio_of_verdict(verdict, target_, rng_));
  return 1 / back.ci_high > 1 + threshold_;  // how far faster was settled before; this asks only whether
}

Result<std::optional<Start>> known_start(const Parts& parts, const Target& target, const std::string& tag,
                                         const std::string& kernel_name) {
  const ledger::Ledger& ledger = parts.workspace.ledger();
  AK_TRY(incumbent, ledger.incumbent(target.id, tag));
  if (!incumbent || !incumbent->best_config) return std::optional<Start>();
  AK_TRY(context, ledger.context(incumbent->id));
  if (context.device.uuid != parts.pool.hello().device.uuid) return std::optional<Start>();
  AK_TRY(hash, ledger.result_hash(incumbent->id));
  AK_TRY(text, ledger.kernel_text(hash));
  AK_TRY(trials, ledger.trials(incumbent->id));
  std::erase_if(trials, [&](const Trial& trial) { return trial.config != *incumbent->best_config; });
  for (const TargetProblem& each : target.problems) {
    const bool timed = std::any_of(trials.begin(), trials.end(), [&](const Trial& trial) {
      return trial.problem_id == each.id && trial.time;
    });
    if (each.role == Role::kPrimary && !timed) return std::optional<Start>();
  }
  Start start;
  start.kernel = {kernel_name, std::move(text), *incumbent->best_config};
  start.experiment = std::move(*incumbent);
  start.trials = std::move(trials);
  return std::optional(std::move(start));
}

Result<Start> measure_start(const Parts& parts, Gate& gate, const Target& target, const std::string& tag,
                            harness::CandidateText kernel, const std::string& description) {
  parts.log.info("measuring the start: {}", kernel.config.to_string());
  Experiment experiment;
  experiment.target = target.id;
  experiment.tag = tag;
  experiment.proposer = kStartProposer;
  experiment.description = description;
  AK_TRY(measured, gate.full_verdict(kernel, std::nullopt));
  ledger::Workspace& workspace = parts.workspace;
  AK_TRY(begun, workspace.begin(experiment, kernel.text, parts.run_context()));
  Start start;
  start.trials = trials_of_verdict(measured, kernel.config, begun.id, target);
  for (const Trial& trial : start.trials) AK_TRY_VOID(workspace.ledger().append_trial(trial, measured));
  AK_TRY_VOID(workspace.ledger().attach_verdict(begun.id, measured));
  begun.decision = measured.passed ? Decision::kStart : Decision::kFailed;
  if (measured.failure) begun.description += fmt::format(": {}", name(measured.failure->kind));
  begun.best_config = kernel.config;
  begun.objective_us = objective_of_verdict(measured, target).median_us;
  AK_TRY(ended, workspace.finish(begun, kernel.text));
  start.experiment = std::move(ended);
  start.kernel = std::move(kernel);
  start.verdict = std::move(measured);
  return start;
}

}  // namespace ak::campaign
