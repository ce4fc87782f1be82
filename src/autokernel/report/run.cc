#include "autokernel/report/run.h"

#include <limits>

#include "autokernel/report/text.h"

namespace ak::report {

namespace {

std::vector<MeasuredConfig> grouped(std::vector<ledger::TrialRecord> records) {
  std::vector<MeasuredConfig> configs;
  for (ledger::TrialRecord& record : records) {
    // A second row for a problem begins a re-measurement of the same config.
    bool same = !configs.empty() && configs.back().config == record.trial.config;
    if (same) {
      for (const ledger::TrialRecord& earlier : configs.back().records) {
        same = same && earlier.trial.problem_id != record.trial.problem_id;
      }
    }
    if (!same) configs.push_back({record.trial.config, {}, std::nullopt});
    if (!record.trial.passed && !configs.back().failure) {
      configs.back().failure = record.trial.failure.value_or(
          Failure{Stage::kSmoke, FailureKind::kInfrastructure, "", "failed without a reason"});
    }
    configs.back().records.push_back(std::move(record));
  }
  return configs;
}

void take_start(Run& run, const Run& start) {
  run.start_config = start.experiment.best_config;
  if (start.experiment.id != run.experiment.id) run.before = start.experiment;
  for (const MeasuredConfig& config : start.configs) {
    if (run.start_config && config.config != *run.start_config)
      continue;  // tried by a search that kept another
    for (const ledger::TrialRecord& record : config.records) {
      const Trial& trial = record.trial;
      if (trial.passed && trial.time && run.calls.contains(trial.problem_id))
        run.start[trial.problem_id] = *trial.time;
    }
  }
}

/// The incumbent when `run` began, whose kernel was timed beside each trial; of a start, itself.
const Run* start_of(const Run& run, const std::vector<Run>& runs) {
  if (run.experiment.decision == Decision::kStart) return &run;
  const Run* found = nullptr;
  for (const Run& earlier : runs) {
    const Experiment& e = earlier.experiment;
    if (e.id >= run.experiment.id || e.tag != run.experiment.tag) continue;
    if (e.decision == Decision::kStart || e.decision == Decision::kKept) found = &earlier;
  }
  return found;
}

}  // namespace

double Run::time_us(const Trial& trial) const {
  if (!trial.time) return std::numeric_limits<double>::infinity();
  const auto begun = start.find(trial.problem_id);
  if (begun == start.end() || !trial.versus || trial.versus->ratio <= 0) return trial.time->median_us;
  return begun->second.median_us / trial.versus->ratio;
}

std::optional<double> Run::objective(const MeasuredConfig& config) const {
  if (config.failure) return std::nullopt;
  double total = 0;
  for (const auto& [problem, weight] : calls) {
    std::optional<double> time;
    for (const ledger::TrialRecord& record : config.records) {
      if (record.trial.problem_id == problem && record.trial.time) time = time_us(record.trial);
    }
    if (!time && start.contains(problem)) time = start.at(problem).median_us;
    if (!time) return std::nullopt;
    total += weight * *time;
  }
  return total > 0 ? std::optional<double>(total) : std::nullopt;
}

std::optional<double> Run::start_objective() const {
  double total = 0;
  for (const auto& [problem, weight] : calls) {
    const auto time = start.find(problem);
    if (time == start.end()) return std::nullopt;
    total += weight * time->second.median_us;
  }
  return total > 0 ? std::optional<double>(total) : std::nullopt;
}

std::optional<double> Run::best_objective() const {
  std::optional<double> best;
  for (const MeasuredConfig& config : configs) {
    const auto value = objective(config);
    if (value && (!best || *value < *best)) best = value;
  }
  return best;
}

std::optional<Config> Run::best_config() const {
  std::optional<double> best;
  std::optional<Config> found;
  for (const MeasuredConfig& config : configs) {
    const auto value = objective(config);
    if (!value || (best && *value >= *best)) continue;
    best = value;
    found = config.config;
  }
  return found;
}

Result<std::vector<Run>> read_runs(const ledger::Ledger& ledger, const Target& target,
                                   const std::string& tag) {
  std::vector<Run> runs;
  AK_TRY(experiments, ledger.experiments({.target = target.id, .tag = tag}));
  for (Experiment& experiment : experiments) {
    Run run;
    AK_TRY(records, ledger.trial_records(experiment.id));
    run.experiment = std::move(experiment);
    run.configs = grouped(std::move(records));
    for (const TargetProblem& problem : target.problems) {
      if (problem.role == Role::kPrimary) run.calls[problem.id] = problem.calls;
    }
    runs.push_back(std::move(run));
  }
  for (Run& run : runs) {
    if (const Run* start = start_of(run, runs)) take_start(run, *start);
  }
  return runs;
}

std::string before_name(const Run& run) {
  const bool kept = run.before && run.before->decision == Decision::kKept;
  return kept ? fmt::format("experiment {}", run.before->id) : "start";
}

Series trials_series(const Run& run, const std::string& target) {
  Series series;
  series.title = fmt::format("{}: experiment {}, {}", target, run.experiment.id, run.experiment.proposer);
  series.x_label = "trial: one config each";
  const bool one_call = run.calls.size() == 1 && run.calls.begin()->second == 1;
  series.y_label = one_call ? "time of the kernel" : "objective (sum of calls x time)";
  std::optional<double> best = run.start_objective();
  if (best) {
    const std::string config = run.start_config ? run.start_config->to_string() : "";
    series.points.push_back(
        {0, best, Mark::kStart, fmt::format("{}: {}, {}", before_name(run), config, time_text(*best)), ""});
  }
  std::int64_t number = 0;
  for (const MeasuredConfig& config : run.configs) {
    SeriesPoint point;
    point.x = ++number;
    point.y_us = run.objective(config);
    point.label = fmt::format("trial {}: {}", number, config.config.to_string());
    if (!point.y_us) {
      point.mark = Mark::kFailed;
      if (config.failure) point.label += fmt::format(", {}", name(config.failure->kind));
    } else {
      point.label += ", " + time_text(*point.y_us);
      if (!best || *point.y_us < *best) {
        best = point.y_us;
        point.mark = Mark::kImproved;
      }
    }
    series.points.push_back(std::move(point));
  }
  return series;
}

}  // namespace ak::report
