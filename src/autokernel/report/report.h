#pragma once
// What happened, from the ledger alone: a table for the terminal, Markdown, one self-contained HTML page and
// progress.svg. The same ledger gives the same bytes.
//
//   AK_TRY(report, report::build(workspace.ledger()));
//   fmt::print("{}", report::terminal(report));
//   AK_TRY(paths, report::write_reports(workspace));   // reports/report.md, report.html, progress.svg

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/core/experiment.h"
#include "autokernel/ledger/workspace.h"
#include "autokernel/report/model.h"
#include "autokernel/report/series.h"

namespace ak::report {

/// Where and how the numbers of a target were measured.
struct RunFacts {
  std::string device_kind, device_name;
  std::string compiler, version, kernel_hash;
  std::string date;  ///< "2026-01-02", or "2026-01-02 to 2026-01-05"
  std::uint64_t seed = 0;
  bool sandboxed = true;
  bool warm = true;          ///< timed with warm caches
  std::string line() const;  ///< one line for captions
};

struct ConfigRow {
  std::string tunable, start, best;
};

/// One primary problem with the best config that was found for it.
struct ProblemRow {
  std::string id, label;
  std::string stands_for;  ///< of a rehearsal: the problem that it was reduced from
  double calls = 1;
  std::optional<TimeEstimate> start;
  std::optional<TimeEstimate> best;
  double best_us = 0;  ///< free of drift: start / paired ratio where there is one; what speedup is of
  Config config;
  double gbps = 0, tflops = 0, peak_memory_bytes = 0;
  std::optional<double> pct_peak;  ///< of the measured peak that it comes closest to
  std::optional<double> floor_us, baseline_us;
};

struct FailureRow {
  std::string kind;
  std::size_t count = 0;
  std::string stage, check, config, message;  ///< of the first one
};

struct ExperimentRow {
  Experiment experiment;
  std::optional<double> objective_us;
  std::size_t configs = 0, failed = 0;
};

struct TargetReport {
  std::string id, op, tag;
  std::string scope;  ///< what times of the objective are of, e.g. "all 8 calls"; empty: of one call
  /// What the shown experiment was measured against: "start", or "experiment 2" that was kept before.
  std::string before = "start";
  std::vector<std::int64_t> unfinished;  ///< experiments without a decision
  ledger::Unfinished why_unfinished = ledger::Unfinished::kInterrupted;
  RunFacts facts;
  std::int64_t shown = 0;  ///< number of the experiment that the tables below describe
  Decision decision = Decision::kRunning;
  std::optional<double> start_us, best_us;  ///< the objective
  std::optional<Comparison> confirmation;
  std::size_t configs = 0, failed_configs = 0;  ///< of the shown experiment
  std::vector<ConfigRow> config_rows;
  std::vector<ProblemRow> problems;
  std::vector<FailureRow> failures;  ///< over all experiments of the target
  std::vector<ExperimentRow> experiments;
  std::vector<Series> series;  ///< most telling first
  /// "1.42x the speed of the start ...", or why there is none.
  std::string headline() const;
  /// "experiment 3 was interrupted ..."; empty: every experiment has its decision.
  std::string unfinished_line() const;
  /// " (all 8 calls)" behind a time of the objective.
  std::string scope_note() const { return scope.empty() ? "" : " (" + scope + ")"; }
};

struct Report {
  std::optional<ModelReport> model;  ///< of a workspace with a plan
  std::vector<TargetReport> targets;
};

struct BuildOptions {
  std::string target, tag;  ///< empty: all
  std::optional<ModelReport> model{};
  ledger::Unfinished unfinished = ledger::Unfinished::kInterrupted;  ///< what runs without a decision are
};

Result<Report> build(const ledger::Ledger& ledger, const BuildOptions& options = {});

std::string terminal(const Report& report);
std::string markdown(const Report& report);
/// One page without scripts or anything from elsewhere, light and dark.
std::string html(const Report& report);

struct ReportPaths {
  std::filesystem::path markdown, html, progress;
};
/// Writes reports/ of the workspace. A ledger without experiments is a usage error.
Result<ReportPaths> write_reports(const ledger::Workspace& workspace, const BuildOptions& options = {});

}  // namespace ak::report
