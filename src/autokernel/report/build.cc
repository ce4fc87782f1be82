// From the ledger to a Report.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "autokernel/report/report.h"
#include "autokernel/report/run.h"
#include "autokernel/report/text.h"

namespace ak::report {

namespace {

constexpr std::size_t kExperimentsForAPlot = 3;

int importance(const Experiment& e) {
  return e.decision == Decision::kKept ? 2 : e.proposer == kStartProposer ? 0 : 1;
}

/// The experiment that the tables describe, since the last start: the last that was kept, else the last tune
/// run or edit, else the last with trials.
const Run* shown_run(const std::vector<Run>& runs) {
  const Run* shown = nullptr;
  for (const Run& run : runs) {
    if (run.configs.empty()) continue;
    const bool anew = shown == nullptr || run.experiment.decision == Decision::kStart;
    if (anew || importance(run.experiment) >= importance(shown->experiment)) shown = &run;
  }
  return shown;
}

std::string days(const std::vector<Run>& runs) {
  std::string first, last;
  for (const Run& run : runs) {
    const std::string from = run.experiment.started_at.substr(0, 10);
    const std::string to = run.experiment.ended_at.empty() ? from : run.experiment.ended_at.substr(0, 10);
    if (first.empty() || from < first) first = from;
    last = std::max(last, to);
  }
  return first == last ? first : first + " to " + last;
}

RunFacts facts_of(const Run& run, const ledger::RunContext& context) {
  RunFacts facts;
  facts.device_kind = context.device.kind;
  facts.device_name = context.device.name;
  facts.compiler = context.compiler;
  facts.version = context.version;
  facts.kernel_hash = run.experiment.kernel_hash;
  facts.date = days({run});
  facts.seed = run.experiment.seed;
  facts.sandboxed = context.sandboxed;
  for (const MeasuredConfig& config : run.configs) {
    for (const ledger::TrialRecord& record : config.records) {
      facts.sandboxed = facts.sandboxed && record.facts.sandboxed;
      if (record.trial.time && record.facts.l2 == CacheState::kCold) facts.warm = false;
    }
  }
  return facts;
}

std::optional<double> pct_peak(const ledger::TrialRecord& record) {
  double share = 0;
  if (record.facts.peak_gbps > 0) share = std::max(share, record.trial.gbps / record.facts.peak_gbps);
  if (record.facts.peak_tflops > 0) share = std::max(share, record.trial.tflops / record.facts.peak_tflops);
  if (share <= 0) return std::nullopt;
  return 100 * share;
}

ProblemRow problem_row(const TargetProblem& problem, const Run& run) {
  ProblemRow row;
  row.id = problem.id;
  row.label = problem.problem.label();
  row.calls = problem.calls;
  if (const auto start = run.start.find(problem.id); start != run.start.end()) row.start = start->second;
  double best = std::numeric_limits<double>::infinity();
  for (const MeasuredConfig& config : run.configs) {
    for (const ledger::TrialRecord& record : config.records) {
      const Trial& trial = record.trial;
      if (!trial.passed || !trial.time || trial.problem_id != problem.id || run.time_us(trial) >= best)
        continue;
      best = row.best_us = run.time_us(trial);
      row.best = trial.time;
      row.config = trial.config;
      row.gbps = trial.gbps;
      row.tflops = trial.tflops;
      row.peak_memory_bytes = trial.peak_memory_bytes;
      row.pct_peak = pct_peak(record);
      row.floor_us = record.facts.floor_us;
      row.baseline_us = record.facts.baseline_us;
    }
  }
  return row;
}

/// The numbers of the confirmation, where both sides were timed in the same rounds: what is quoted.
/// False: the verdict does not have them.
bool use_confirmation(ProblemRow& row, const Experiment& experiment, const Verdict& verdict) {
  const auto timing = std::find_if(verdict.timings.begin(), verdict.timings.end(),
                                   [&](const Timing& each) { return each.problem_id == row.id; });
  if (timing == verdict.timings.end() || !timing->versus || !experiment.best_config) return false;
  row.start = timing->versus->incumbent;
  row.best = timing->time;
  row.best_us = row.start->median_us / timing->versus->ratio;
  row.config = *experiment.best_config;
  row.gbps = timing->gbps;
  row.tflops = timing->tflops;
  row.floor_us = timing->floor_us;
  row.baseline_us = timing->baseline_us;
  return true;
}

std::vector<ConfigRow> config_rows(const std::optional<Config>& start, const std::optional<Config>& best) {
  std::map<std::string, ConfigRow> rows;
  for (const auto* config : {&start, &best}) {
    if (!*config) continue;
    for (const auto& [name, value] : (*config)->values) {
      ConfigRow& row = rows[name];
      row.tunable = name;
      (config == &start ? row.start : row.best) = to_string(value);
    }
  }
  std::vector<ConfigRow> result;
  for (auto& [name, row] : rows) result.push_back(std::move(row));
  return result;
}

std::vector<FailureRow> failure_rows(const std::vector<Run>& runs) {
  std::map<FailureKind, FailureRow> rows;  // in the order of the closed list
  for (const Run& run : runs) {
    for (const MeasuredConfig& config : run.configs) {
      if (!config.failure) continue;
      FailureRow& row = rows[config.failure->kind];
      if (row.count++ > 0) continue;
      row.kind = name(config.failure->kind);
      row.stage = name(config.failure->stage);
      row.check = config.failure->check;
      row.config = config.config.to_string();
      row.message = config.failure->message;
    }
  }
  std::vector<FailureRow> result;
  for (auto& [kind, row] : rows) result.push_back(std::move(row));
  return result;
}

/// Objective of a finished experiment: of the ledger, else what its confirmation implies.
std::optional<double> objective_of(const Experiment& e) {
  if (e.objective_us > 0) return e.objective_us;
  if (e.confirmation && e.confirmation->ratio > 0 && e.confirmation->incumbent.median_us > 0) {
    return e.confirmation->incumbent.median_us / e.confirmation->ratio;
  }
  return std::nullopt;
}

Series experiments_series(const TargetReport& target) {
  Series series;
  series.title = fmt::format("{}: experiments", target.id);
  series.subtitle = target.facts.line();
  series.x_label = "experiment";
  series.y_label = "objective (sum of calls x time)";
  for (const ExperimentRow& row : target.experiments) {
    const Experiment& e = row.experiment;
    if (e.decision == Decision::kRunning) continue;
    SeriesPoint point;
    point.x = e.id;
    point.y_us = row.objective_us;
    point.label = fmt::format("experiment {} ({}): {}", e.id, name(e.decision), e.description);
    if (!point.y_us || e.decision == Decision::kFailed) {
      if (e.decision != Decision::kFailed) continue;  // reverted before anything was to confirm
      point.y_us.reset();
      point.mark = Mark::kFailed;
    } else if (e.decision == Decision::kStart) {
      point.mark = Mark::kStart;
    } else if (e.decision == Decision::kKept) {
      point.mark = Mark::kImproved;
      point.note = plain_line(e.description, 40);
    }
    series.points.push_back(std::move(point));
  }
  return series;
}

std::optional<double> total_floor(const std::vector<ProblemRow>& problems) {
  double total = 0;
  for (const ProblemRow& row : problems) {
    if (!row.floor_us) return std::nullopt;
    total += row.calls * *row.floor_us;
  }
  return total > 0 ? std::optional<double>(total) : std::nullopt;
}

/// Problems of a rehearsal are smaller than those of the target that it stands for.
void name_reduced(const ledger::Ledger& ledger, const Target& target, std::vector<ProblemRow>& rows) {
  if (!target.id.ends_with(kRehearsal)) return;
  const Result<Target> whole = ledger.target(target.id.substr(0, target.id.size() - kRehearsal.size()));
  for (ProblemRow& row : rows) {
    row.stands_for = "a larger problem";
    if (!whole) continue;  // tuned in another workspace than it was extracted in
    for (const TargetProblem& each : whole->problems) {
      if (each.id == row.id) row.stands_for = each.problem.label();
    }
  }
}

void fill_objective(TargetReport& report, const Run& run) {
  const Experiment& e = run.experiment;
  report.start_us = run.start_objective();
  report.best_us = objective_of(e);
  report.confirmation = e.confirmation;
  if (!report.best_us) report.best_us = run.best_objective();
}

/// Nothing was faster than the start, so nothing was confirmed: the best of the trials is the noise's.
void forget_best(TargetReport& report) {
  report.best_us.reset();
  for (ProblemRow& row : report.problems) {
    row.best.reset();
    row.best_us = 0;
    row.config = {};
  }
}

Result<TargetReport> build_target(const ledger::Ledger& ledger, const Target& target,
                                  const BuildOptions& options) {
  TargetReport report;
  report.id = target.id;
  report.op = target.op;
  report.scope = objective_scope(target);
  report.why_unfinished = options.unfinished;
  AK_TRY(runs, read_runs(ledger, target, options.tag));
  for (const Run& run : runs) {
    if (run.experiment.decision == Decision::kRunning) report.unfinished.push_back(run.experiment.id);
    const auto failed =
        std::count_if(run.configs.begin(), run.configs.end(),
                      [](const MeasuredConfig& config) { return config.failure.has_value(); });
    report.experiments.push_back(
        {run.experiment, objective_of(run.experiment), run.configs.size(), static_cast<std::size_t>(failed)});
  }
  report.failures = failure_rows(runs);
  const Run* shown = shown_run(runs);
  if (shown == nullptr) return report;
  AK_TRY(context, ledger.context(shown->experiment.id));
  report.facts = facts_of(*shown, context);
  report.tag = shown->experiment.tag;
  report.shown = shown->experiment.id;
  report.decision = shown->experiment.decision;
  report.before = before_name(*shown);
  report.configs = shown->configs.size();
  report.failed_configs = static_cast<std::size_t>(std::count_if(
      shown->configs.begin(), shown->configs.end(), [](const auto& c) { return c.failure.has_value(); }));
  for (const TargetProblem& problem : target.problems) {
    if (problem.role == Role::kPrimary) report.problems.push_back(problem_row(problem, *shown));
  }
  name_reduced(ledger, target, report.problems);
  fill_objective(report, *shown);
  AK_TRY(verdict, ledger.verdict(shown->experiment.id));
  if (report.confirmation && verdict) {
    double start_us = 0;
    bool used = true;
    for (ProblemRow& row : report.problems) {
      used = use_confirmation(row, shown->experiment, *verdict) && used;
      if (row.start) start_us += row.calls * row.start->median_us;
    }
    if (used) report.start_us = start_us;
  }
  const bool nothing_better = report.decision == Decision::kReverted && !report.confirmation;
  if (nothing_better) forget_best(report);
  const auto best = shown->experiment.best_config ? shown->experiment.best_config
                    : nothing_better              ? shown->start_config
                                                  : shown->best_config();
  report.config_rows = config_rows(shown->start_config, best);
  Series trials = trials_series(*shown, target.id);
  trials.subtitle = report.facts.line();
  trials.floor_us = total_floor(report.problems);
  if (report.decision == Decision::kKept && report.confirmation) trials.confirmed_us = report.best_us;
  if (shown->configs.size() > 1) report.series.push_back(std::move(trials));
  if (report.experiments.size() >= kExperimentsForAPlot || report.series.empty()) {
    report.series.push_back(experiments_series(report));
  }
  return report;
}

}  // namespace

std::string RunFacts::line() const {
  std::string line = fmt::format("{} ({}), {}", device_name, device_kind, date);
  if (!compiler.empty()) line += ", " + compiler;
  line +=
      fmt::format(", seed {}, sandbox {}, {} caches", seed, sandboxed ? "on" : "off", warm ? "warm" : "cold");
  return line;
}

std::string TargetReport::headline() const {
  const std::string what = before == "start" ? "the start" : before;
  if (decision == Decision::kKept && confirmation) {
    return fmt::format("{} the speed of {} (95 % CI {} to {}), confirmed in a fresh worker",
                       ratio_text(confirmation->ratio), what, ratio_text(confirmation->ci_low),
                       ratio_text(confirmation->ci_high));
  }
  if (decision == Decision::kKept) return "kept";
  if (decision == Decision::kStart) return "measured; nothing was tried yet";
  if (decision == Decision::kRunning) {
    return fmt::format("not finished ({}): the best so far is unconfirmed",
                       ledger::decision_text(decision, why_unfinished));
  }
  if (decision == Decision::kFailed && configs > 0 && failed_configs == configs)
    return "it does not pass: see the failures";
  if (decision == Decision::kFailed) return "it ended without a decision";
  if (confirmation) {
    return fmt::format("{} stays ({}): the best was {} its speed (95 % CI {} to {})", what, name(decision),
                       ratio_text(confirmation->ratio), ratio_text(confirmation->ci_low),
                       ratio_text(confirmation->ci_high));
  }
  return what + " stays: nothing that was tried is faster";
}

std::string TargetReport::unfinished_line() const {
  std::string numbers;
  for (const std::int64_t each : unfinished)
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", each);
  if (numbers.empty()) return "";
  return why_unfinished == ledger::Unfinished::kRunning
             ? fmt::format("experiment {} is still running", numbers)
             : fmt::format(
                   "experiment {} was interrupted: it has no decision yet, and the same command goes on "
                   "with it",
                   numbers);
}

Result<Report> build(const ledger::Ledger& ledger, const BuildOptions& options) {
  Report report;
  report.model = options.model;
  AK_TRY(ids, ledger.target_ids());
  if (!options.target.empty() && std::find(ids.begin(), ids.end(), options.target) == ids.end()) {
    std::string known;
    for (const std::string& id : ids) known += (known.empty() ? "" : ", ") + id;
    return usage_error("there is no target '{}': the ledger has {}", options.target,
                       known.empty() ? "none" : known);
  }
  for (const std::string& id : ids) {
    if (!options.target.empty() && id != options.target) continue;
    AK_TRY(target, ledger.target(id));
    AK_TRY(built, build_target(ledger, target, options));
    if (!built.experiments.empty()) report.targets.push_back(std::move(built));
  }
  return report;
}

}  // namespace ak::report
