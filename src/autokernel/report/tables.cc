#include "autokernel/report/tables.h"

#include <algorithm>

#include "autokernel/report/text.h"

namespace ak::report {

namespace {

constexpr auto kLeft = TextTable::Align::kLeft;
constexpr auto kRight = TextTable::Align::kRight;
constexpr const char* kNone = "n/a";

std::string memory_text(double bytes) {
  if (bytes <= 0) return kNone;
  return bytes >= 1e9 ? number_text(bytes / 1e9) + " GB" : number_text(bytes / 1e6) + " MB";
}

std::string speedup_text(const ProblemRow& row) {
  if (!row.start || !row.best || row.best_us <= 0) return kNone;
  return ratio_text(row.start->median_us / row.best_us);
}

std::string confirmed_text(const Experiment& e) {
  if (!e.confirmation) return "";
  return fmt::format("{} ({} to {})", ratio_text(e.confirmation->ratio), number_text(e.confirmation->ci_low),
                     number_text(e.confirmation->ci_high));
}

}  // namespace

Table problem_table(const TargetReport& target) {
  const auto has = [&](auto member) {
    return std::any_of(target.problems.begin(), target.problems.end(),
                       [&](const ProblemRow& row) { return (row.*member).has_value(); });
  };
  const bool peak = has(&ProblemRow::pct_peak), floor = has(&ProblemRow::floor_us);
  const bool baseline = has(&ProblemRow::baseline_us);
  const bool rehearsal = std::any_of(target.problems.begin(), target.problems.end(),
                                     [](const ProblemRow& row) { return !row.stands_for.empty(); });
  Table table{
      {"problem", "calls", target.before + ", a call", "best, a call (95 % CI)", "speedup", "GB/s", "memory"},
      {kLeft, kRight, kRight, kRight, kRight, kRight, kRight},
      {}};
  if (rehearsal) {
    table.header.insert(table.header.begin() + 1, "reduced from");
    table.align.insert(table.align.begin() + 1, kLeft);
  }
  const auto add_column = [&](bool wanted, const char* name) {
    if (!wanted) return;
    table.header.emplace_back(name);
    table.align.push_back(kRight);
  };
  add_column(peak, "% of peak");
  add_column(floor, "floor");
  add_column(baseline, "vs PyTorch");
  table.header.emplace_back("best config");
  table.align.push_back(kLeft);
  for (const ProblemRow& row : target.problems) {
    std::vector<std::string> cells = {fmt::format("{} {}", row.id, row.label),
                                      fmt::format("{:g}", row.calls),
                                      row.start ? time_text(row.start->median_us) : kNone,
                                      row.best ? time_text(*row.best) : kNone,
                                      speedup_text(row),
                                      row.gbps > 0 ? number_text(row.gbps) : kNone,
                                      memory_text(row.peak_memory_bytes)};
    if (rehearsal) cells.insert(cells.begin() + 1, row.stands_for);
    if (peak) cells.push_back(row.pct_peak ? number_text(*row.pct_peak) : kNone);
    if (floor) cells.push_back(optional_text(row.floor_us));
    if (baseline) {
      cells.push_back(row.baseline_us && row.best_us > 0 ? ratio_text(*row.baseline_us / row.best_us)
                                                         : kNone);
    }
    cells.push_back(row.best ? row.config.to_string() : kNone);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table config_table(const TargetReport& target) {
  Table table{{"tunable", target.before, "best"}, {kLeft, kRight, kRight}, {}};
  for (const ConfigRow& row : target.config_rows) table.rows.push_back({row.tunable, row.start, row.best});
  return table;
}

Table failure_table(const TargetReport& target) {
  Table table{{"kind", "configs", "stage", "check", "first config", "message"},
              {kLeft, kRight, kLeft, kLeft, kLeft, kLeft},
              {}};
  for (const FailureRow& row : target.failures) {
    table.rows.push_back({row.kind, std::to_string(row.count), row.stage, row.check, row.config,
                          plain_line(row.message, 100)});
  }
  return table;
}

Table experiment_table(const TargetReport& target) {
  Table table{{"experiment", "decision", target.scope.empty() ? "time" : "calls x time", "confirmed speedup",
               "configs", "failed", "by", "date", "commit", "description"},
              {kRight, kLeft, kRight, kRight, kRight, kRight, kLeft, kLeft, kLeft, kLeft},
              {}};
  for (const ExperimentRow& row : target.experiments) {
    const Experiment& e = row.experiment;
    table.rows.push_back({std::to_string(e.id), ledger::decision_text(e.decision, target.why_unfinished),
                          optional_text(row.objective_us), confirmed_text(e), std::to_string(row.configs),
                          std::to_string(row.failed), e.proposer, e.started_at.substr(0, 10),
                          e.commit.substr(0, 10), plain_line(e.description, 120)});
  }
  return table;
}

std::string caption(const TargetReport& target) {
  std::string text = fmt::format(
      "Medians of one call and 95 % interval; speedup is free of clock drift (paired rounds with {}). "
      "Measured on "
      "{}.",
      target.before == "start" ? "the start" : target.before, target.facts.line());
  if (target.facts.device_kind == "cpu") text += " These are CPU timings: they say nothing about a GPU.";
  return text;
}

}  // namespace ak::report
