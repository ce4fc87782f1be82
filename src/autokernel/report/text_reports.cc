// The report as text: for a terminal and as Markdown.

#include <algorithm>

#include "autokernel/base/text_table.h"
#include "autokernel/report/report.h"
#include "autokernel/report/tables.h"
#include "autokernel/report/text.h"

namespace ak::report {

std::string markdown_table(const Table& table) {
  TextTable text(table.header, table.align);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    // TextTable escapes '|' itself.
    for (const std::string& cell : row) {
      std::string escaped = escape_markdown(cell);
      for (std::size_t at = 0; (at = escaped.find("\\|", at)) != escaped.npos; ++at) escaped.erase(at, 1);
      cells.push_back(std::move(escaped));
    }
    text.add_row(std::move(cells));
  }
  return text.markdown();
}

namespace {

constexpr std::size_t kConfigWidth = 60;
constexpr std::size_t kExperimentsOnATerminal = 20;

std::string plain(const Table& table) {
  TextTable text(table.header, table.align);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(plain_line(cell, kConfigWidth));
    text.add_row(std::move(cells));
  }
  return text.plain();
}

std::string section(std::string_view title, const std::string& body) {
  return fmt::format("\n{}\n{}", title, body);
}

std::string terminal_target(const TargetReport& target) {
  std::string text = fmt::format("{} ({})\n", plain_line(target.id, 100), plain_line(target.op, 100));
  if (target.shown == 0) return text + "  no trial yet\n";
  text += fmt::format("  experiment {}: {}\n", target.shown, target.headline());
  if (!target.unfinished.empty()) text += fmt::format("  {}\n", target.unfinished_line());
  text += fmt::format("  {} {}, best {}{}; {} configs, {} failed\n", target.before,
                      optional_text(target.start_us), optional_text(target.best_us), target.scope_note(),
                      target.configs, target.failed_configs);
  text += fmt::format("  {}\n", plain_line(target.facts.line(), 200));
  text += section("problems", plain(problem_table(target)));
  if (!target.config_rows.empty()) text += section("config", plain(config_table(target)));
  if (!target.failures.empty()) text += section("failures", plain(failure_table(target)));
  Table experiments = experiment_table(target);
  const std::size_t all = experiments.rows.size();
  if (all > kExperimentsOnATerminal) {
    experiments.rows.erase(experiments.rows.begin(),
                           experiments.rows.end() - static_cast<std::ptrdiff_t>(kExperimentsOnATerminal));
  }
  text += section(all > kExperimentsOnATerminal
                      ? fmt::format("experiments (the last {} of {})", kExperimentsOnATerminal, all)
                      : std::string("experiments"),
                  plain(experiments));
  return text;
}

std::string markdown_failures(const TargetReport& target) {
  std::string text = "### Failures\n\n" + markdown_table(failure_table(target));
  for (const FailureRow& row : target.failures) {
    if (row.message.empty()) continue;
    text += fmt::format("\n{} ({}), first seen with {}:\n\n{}", escape_markdown(row.kind),
                        escape_markdown(row.check.empty() ? row.stage : row.check),
                        escape_markdown(row.config), fenced(row.message.substr(0, kMostMessageBytes)));
  }
  return text + "\n";
}

std::string markdown_target(const TargetReport& target, bool first) {
  std::string text = fmt::format("## {} ({})\n\n", escape_markdown(target.id), escape_markdown(target.op));
  if (target.shown == 0) return text + "No trial yet.\n\n";
  text += fmt::format("**{}**\n\n", escape_markdown(target.headline()));
  if (first) text += "![progress](progress.svg)\n\n";
  if (!target.unfinished.empty()) text += fmt::format("{}.\n\n", target.unfinished_line());
  text += fmt::format("Times{}: {} {}, best {}. Experiment {}: {} configs, {} of them failed.\n\n",
                      target.scope_note(), target.before, optional_text(target.start_us),
                      optional_text(target.best_us), target.shown, target.configs, target.failed_configs);
  text += "### Problems\n\n" + markdown_table(problem_table(target)) + "\n";
  text += escape_markdown(caption(target)) + "\n\n";
  if (!target.config_rows.empty()) text += "### Config\n\n" + markdown_table(config_table(target)) + "\n";
  if (!target.failures.empty()) text += markdown_failures(target);
  text += "### Experiments\n\n" + markdown_table(experiment_table(target)) + "\n";
  return text;
}

}  // namespace

std::string terminal(const Report& report) {
  std::string text = report.model ? terminal(*report.model) : "";
  for (const TargetReport& target : report.targets) {
    if (!text.empty()) text += "\n";
    text += terminal_target(target);
  }
  return report.targets.empty() ? text + "nothing was recorded yet\n" : text;
}

std::string markdown(const Report& report) {
  std::string text = "# AutoKernel report\n\n";
  if (report.model) text += markdown(*report.model);
  for (std::size_t i = 0; i < report.targets.size(); ++i) text += markdown_target(report.targets[i], i == 0);
  if (report.targets.empty()) text += "Nothing was recorded yet.\n";
  return text;
}

}  // namespace ak::report
