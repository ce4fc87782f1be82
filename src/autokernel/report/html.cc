#include "autokernel/report/html_style.h"
#include "autokernel/report/report.h"
#include "autokernel/report/tables.h"
#include "autokernel/report/text.h"

namespace ak::report {

namespace {

/// The class of a cell whose text is the name of a decision, so that it can be coloured.
std::string_view decision_class(const std::string& header, const std::string& cell) {
  if (header != "decision" || !decision_from_name(cell)) return "";
  return name(*decision_from_name(cell));
}

}  // namespace

std::string html_table(const Table& table) {
  std::string html = "<div class=\"scroll\"><table>\n<thead><tr>";
  const auto right = [&](std::size_t i) { return table.align[i] == TextTable::Align::kRight; };
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    html += fmt::format("<th{}>{}</th>", right(i) ? " class=\"right\"" : "", escape_xml(table.header[i]));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string classes(right(i) ? "right" : decision_class(table.header[i], row[i]));
      if (table.header[i] == "description" || table.header[i] == "message") classes = "wide";
      html += classes.empty() ? std::string("<td>") : fmt::format("<td class=\"{}\">", classes);
      html += escape_xml(row[i]) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

namespace {

std::string element(std::string_view tag, std::string_view content) {
  return fmt::format("<{0}>{1}</{0}>\n", tag, escape_xml(content));
}

std::string card(std::string_view value, std::string_view label, std::string_view classes = "card") {
  return fmt::format("<div class=\"{}\"><b>{}</b><span>{}</span></div>\n", classes, escape_xml(value),
                     escape_xml(label));
}

std::string cards(const TargetReport& target) {
  std::string html = "<div class=\"cards\">\n";
  const bool kept = target.decision == Decision::kKept && target.confirmation;
  if (kept) {
    html +=
        card(ratio_text(target.confirmation->ratio),
             fmt::format("the speed of {}, confirmed (95 % CI {} to {})",
                         target.before == "start" ? "the start" : target.before,
                         number_text(target.confirmation->ci_low), number_text(target.confirmation->ci_high)),
             "card good");
  }
  html += card(optional_text(target.start_us), target.before + target.scope_note());
  html += card(optional_text(target.best_us), (kept ? "best" : "best seen, not kept") + target.scope_note());
  html +=
      card(std::to_string(target.configs), fmt::format("configs tried, {} failed", target.failed_configs));
  return html + "</div>\n";
}

std::string facts(const TargetReport& target) {
  const RunFacts& f = target.facts;
  std::string html = "<dl>\n";
  const auto fact = [&](std::string_view name, std::string_view value) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_xml(name), escape_xml(value));
  };
  fact("Device", fmt::format("{} ({})", f.device_name, f.device_kind));
  fact("Date", f.date);
  fact("Compiler", f.compiler.empty() ? "unknown" : f.compiler);
  fact("AutoKernel", f.version.empty() ? "unknown" : f.version);
  fact("Seed", std::to_string(f.seed));
  fact("Sandbox", f.sandboxed ? "on" : "off: candidates were compiled and run without isolation");
  fact("Caches", f.warm ? "warm" : "cold");
  fact("Tag", target.tag);
  fact("Kernel", f.kernel_hash);
  return html + "</dl>\n";
}

std::string failures(const TargetReport& target) {
  std::string html = element("h3", "Failures") + html_table(failure_table(target));
  for (const FailureRow& row : target.failures) {
    if (row.message.empty()) continue;
    html += fmt::format(
        "<details><summary>{}: the first message, of <code>{}</code></summary><pre>{}</pre></details>\n",
        escape_xml(row.kind), escape_xml(row.config), escape_xml(row.message.substr(0, kMostMessageBytes)));
  }
  return html;
}

std::string html_target(const TargetReport& target) {
  std::string html = element("h2", fmt::format("{} ({})", target.id, target.op));
  if (target.shown == 0) return html + element("p", "No trial yet.");
  html += fmt::format("<p class=\"headline\">Experiment {}: {}</p>\n", target.shown,
                      escape_xml(target.headline()));
  if (!target.unfinished.empty()) html += element("p", target.unfinished_line());
  html += cards(target);
  for (const Series& series : target.series) html += "<figure>\n" + progress_svg(series) + "</figure>\n";
  html += element("h3", "Problems") + html_table(problem_table(target));
  html += fmt::format("<p class=\"muted\">{}</p>\n", escape_xml(caption(target)));
  if (!target.config_rows.empty()) html += element("h3", "Config") + html_table(config_table(target));
  html += element("h3", "Measured with") + facts(target);
  if (!target.failures.empty()) html += failures(target);
  html += element("h3", "Experiments") + html_table(experiment_table(target));
  return html;
}

}  // namespace

std::string html(const Report& report) {
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>AutoKernel report</title>\n<style>";
  html += kHtmlStyle;
  html += "</style>\n</head>\n<body>\n<main>\n<h1>AutoKernel report</h1>\n";
  if (report.model) html += report::html(*report.model);
  if (report.targets.empty()) html += element("p", "Nothing was recorded yet.");
  for (const TargetReport& target : report.targets) html += html_target(target);
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace ak::report
