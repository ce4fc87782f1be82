#include "autokernel/ledger/results_tsv.h"

#include <algorithm>
#include <map>

namespace ak::ledger {

namespace {

constexpr std::string_view kHeader =
    "experiment\ttag\tkernel_type\tthroughput_tflops\tlatency_us\tpct_peak\tspeedup_vs_pytorch\tcorrectness\t"
    "peak_vram_mb\tdescription\n";
constexpr const char* kUnknown = "n/a";

std::string cell(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

/// Of the measured peak that the kernel comes closest to: matrix rate or bandwidth.
std::string pct_peak(const TrialRecord& record) {
  double share = 0;
  if (record.facts.peak_tflops > 0) share = std::max(share, record.trial.tflops / record.facts.peak_tflops);
  if (record.facts.peak_gbps > 0) share = std::max(share, record.trial.gbps / record.facts.peak_gbps);
  return share > 0 ? fmt::format("{:.1f}", 100 * share) : kUnknown;
}

std::string correctness(const Trial& trial) {
  if (trial.passed) return "PASS";
  return trial.failure ? fmt::format("FAIL ({})", name(trial.failure->kind)) : "FAIL";
}

std::string row(const Experiment& experiment, const std::string& family, const TrialRecord& record) {
  const Trial& trial = record.trial;
  const bool timed = trial.time.has_value() && trial.time->median_us > 0;
  const std::string config = trial.config.values.empty() ? "no tunables" : trial.config.to_string();
  return fmt::format(
      "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", experiment.id, cell(experiment.tag), cell(family),
      timed ? fmt::format("{:.6g}", trial.tflops) : kUnknown,
      timed ? fmt::format("{:.3f}", trial.time->median_us) : kUnknown, timed ? pct_peak(record) : kUnknown,
      timed && record.facts.baseline_us
          ? fmt::format("{:.3f}", *record.facts.baseline_us / trial.time->median_us)
          : kUnknown,
      correctness(trial),
      trial.peak_memory_bytes > 0 ? fmt::format("{:.2f}", trial.peak_memory_bytes / 1e6) : kUnknown,
      cell(fmt::format("{}: {} on {} ({})", experiment.description, config, trial.problem_id,
                       name(experiment.decision))));
}

}  // namespace

Result<std::string> ResultsTable::text(const Ledger& ledger) {
  std::map<std::string, std::string> families;
  AK_TRY(targets, ledger.target_ids());
  for (const std::string& id : targets) {
    AK_TRY(target, ledger.target(id));
    families[id] = target.op;
  }
  std::string text(kHeader);
  AK_TRY(experiments, ledger.experiments());
  for (const Experiment& experiment : experiments) {
    if (const auto known = finished_.find(experiment.id); known != finished_.end()) {
      text += known->second;
      continue;
    }
    AK_TRY(records, ledger.trial_records(experiment.id));
    std::string rows;
    for (const TrialRecord& record : records) rows += row(experiment, families[experiment.target], record);
    text += rows;
    if (experiment.decision != Decision::kRunning) finished_.emplace(experiment.id, std::move(rows));
  }
  return text;
}

}  // namespace ak::ledger
