#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "autokernel/base/text_table.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/standing.h"
#include "autokernel/cli/verdict_text.h"
#include "autokernel/report/report.h"

namespace ak::cli {
namespace {

std::string decision_of(const Experiment& experiment, const ledger::Workspace& workspace) {
  return ledger::decision_text(experiment.decision, workspace.unfinished());
}

Json experiment_json(const Experiment& each, const ledger::Workspace& workspace) {
  Json json = {{"experiment", each.id},
               {"target", each.target},
               {"tag", each.tag},
               {"proposer", each.proposer},
               {"description", each.description},
               {"decision", decision_of(each, workspace)},
               {"objective_us", each.objective_us > 0 ? Json(each.objective_us) : Json()},
               {"commit", each.commit},
               {"kernel_hash", each.kernel_hash},
               {"seed", each.seed},
               {"started_at", each.started_at},
               {"ended_at", each.ended_at}};
  if (each.confirmation) {
    json["confirmation"] = to_json(*each.confirmation);
  }
  return json;
}

bool any_compared(const std::vector<Trial>& trials) {
  return std::any_of(trials.begin(), trials.end(), [](const Trial& each) { return each.versus.has_value(); });
}

/// `against`: number of the experiment whose kernel was timed beside each trial; 0: none was.
std::string trials_table(const std::vector<Trial>& trials, std::int64_t against) {
  using Align = TextTable::Align;
  const std::string ratio = against > 0 ? fmt::format("experiment {} / this", against) : "ratio";
  TextTable table({"trial", "problem", "config", "time of a call", ratio, "result"},
                  {Align::kRight, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  for (const Trial& trial : trials) {
    table.add_row(
        {std::to_string(trial.id), trial.problem_id, trial.config.to_string(),
         trial.time ? format_us(trial.time->median_us) : "-",
         trial.versus ? fmt::format("{:.3f}x", trial.versus->ratio) : "-",
         trial.failure ? fmt::format("{} ({})", name(trial.failure->kind), trial.failure->check) : "pass"});
  }
  if (!any_compared(trials)) return table.plain();
  return fmt::format(
      "{}\n{}: the time of what {} left over this config's, both timed in the same rounds; above 1 this is "
      "the "
      "faster one\n",
      table.plain(), ratio, against > 0 ? fmt::format("experiment {}", against) : "was there");
}

/// What a filter that matches nothing should have been.
Status check_filters(const ledger::Ledger& ledger, const HistoryOptions& options) {
  AK_TRY(all, ledger.experiments());
  AK_TRY(targets, ledger.target_ids());
  std::set<std::string> tags;
  for (const Experiment& each : all) tags.insert(each.tag);
  const auto check = [](const char* option, const std::string& value, const auto& known) -> Status {
    if (value.empty() || std::find(known.begin(), known.end(), value) != known.end()) return {};
    if (known.empty()) return usage_error("{} {}: nothing was recorded in this workspace yet", option, value);
    return usage_error("{} {}: there is no such one; the workspace has {}", option, value,
                       fmt::join(known, ", "));
  };
  AK_TRY_VOID(check("--target", options.target, targets));
  return check("--tag", options.tag, tags);
}

Result<Experiment> experiment_of(const ledger::Ledger& ledger, const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  AK_TRY(all, ledger.experiments());
  for (Experiment& each : all) {
    if (is_number && each.id == number) return std::move(each);
  }
  if (all.empty()) return usage_error("show {}: nothing was recorded in this workspace yet", text);
  return usage_error("show {}: expected the number of an experiment, {} to {} (autokernel log lists them)",
                     text, all.front().id, all.back().id);
}

/// nullopt, with the reason in the log: there is no history here.
std::optional<std::string> change_of(Session& session, const ledger::Workspace& workspace,
                                     const Experiment& experiment) {
  if (experiment.commit.empty()) return "";
  if (!workspace.has_history()) {
    session.log().warning(
        "{} has no .git: the change is not shown; the next command that measures here makes it again from "
        "the "
        "ledger",
        workspace.folder().string());
    return std::nullopt;
  }
  Result<std::string> diff = workspace.git().diff(experiment.commit);
  if (diff) return std::move(*diff);
  session.log().warning("the change is not shown: {}", diff.error().message);
  return std::nullopt;
}

/// Why no time of the model is projected; null: it is.
Json no_projection(const report::BuildOptions& options) {
  if (!options.model) return "the workspace has no plan of a model, or nothing of it was measured";
  return options.model->projected ? Json() : Json(options.model->no_projection);
}

}  // namespace

Result<int> run_log(Session& session, const HistoryOptions& options) {
  AK_TRY(workspace, ledger::Workspace::open_read_only(session.workspace_folder(), session.clock()));
  AK_TRY(experiments, workspace.ledger().experiments({options.target, options.tag}));
  if (experiments.empty()) AK_TRY_VOID(check_filters(workspace.ledger(), options));
  if (session.options().json) {
    Json list = Json::array();
    for (const Experiment& each : experiments) list.push_back(experiment_json(each, workspace));
    session.print_json({{"schema", 1}, {"experiments", std::move(list)}});
    return 0;
  }
  using Align = TextTable::Align;
  TextTable table({"experiment", "target", "proposer", "decision", "calls x time", "ended", "description"},
                  {Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight});
  for (const Experiment& each : experiments) {
    table.add_row({std::to_string(each.id), each.target, each.proposer, decision_of(each, workspace),
                   each.objective_us > 0 ? format_us(each.objective_us) : "-", each.ended_at,
                   each.description});
  }
  session.print(table.plain());
  return 0;
}

Result<int> run_show(Session& session, const HistoryOptions& options) {
  AK_TRY(workspace, ledger::Workspace::open_read_only(session.workspace_folder(), session.clock()));
  AK_TRY(experiment, experiment_of(workspace.ledger(), options.experiment));
  AK_TRY(trials, workspace.ledger().trials(experiment.id));
  AK_TRY(context, workspace.ledger().context(experiment.id));
  AK_TRY(before, workspace.ledger().incumbent_before(experiment));
  const bool compared = experiment.confirmation || any_compared(trials);
  const std::int64_t against = before && compared ? before->id : 0;
  const std::optional<std::string> diff = change_of(session, workspace, experiment);
  if (session.options().json) {
    Json json = experiment_json(experiment, workspace);
    json["schema"] = 1;
    json["device"] = {{"kind", context.device.kind}, {"name", context.device.name}};
    json["compiler"] = context.compiler;
    json["measured_against"] = against > 0 ? Json(against) : Json();
    json["diff"] = diff ? Json(*diff) : Json();
    Json rows = Json::array();
    for (const Trial& trial : trials) {
      Json row = {
          {"trial", trial.id},      {"problem", trial.problem_id}, {"config", trial.config.to_string()},
          {"passed", trial.passed}, {"time_us", nullptr},          {"failure", nullptr}};
      if (trial.time) row["time_us"] = trial.time->median_us;
      if (trial.versus) row["ratio"] = trial.versus->ratio;
      if (trial.failure)
        row["failure"] = {{"kind", std::string(name(trial.failure->kind))},
                          {"check", trial.failure->check},
                          {"message", trial.failure->message}};
      rows.push_back(std::move(row));
    }
    json["trials"] = std::move(rows);
    session.print_json(json);
    return 0;
  }
  std::string out = fmt::format(
      "experiment: {}\ntarget: {}\nproposer: {}\ndecision: {}\ndescription: {}\ndevice: {} ({})\ncompiler: "
      "{}\nstarted: {}\n"
      "ended: {}\nseed: {}\ncommit: {}\n",
      experiment.id, experiment.target, experiment.proposer, decision_of(experiment, workspace),
      experiment.description, context.device.name, context.device.kind, context.compiler,
      experiment.started_at, experiment.ended_at.empty() ? "-" : experiment.ended_at, experiment.seed,
      experiment.commit.empty() ? "-" : experiment.commit);
  if (experiment.confirmation) {
    out += fmt::format("speedup: {:.3f}x (95 % CI {:.3f} to {:.3f}){}\n", experiment.confirmation->ratio,
                       experiment.confirmation->ci_low, experiment.confirmation->ci_high,
                       against > 0 ? fmt::format(" over experiment {}", against) : "");
  }
  session.print(out + "\n" + trials_table(trials, against) + (diff.value_or("").empty() ? "" : "\n" + *diff));
  return 0;
}

Result<int> run_report(Session& session) {
  AK_TRY(workspace, ledger::Workspace::open_read_only(session.workspace_folder(), session.clock()));
  const report::BuildOptions options = report_options(session, workspace);
  AK_TRY(report, report::build(workspace.ledger(), options));
  const Result<report::ReportPaths> paths = report::write_reports(workspace, options);
  if (!paths && paths.error().code != ErrorCode::kEnvironment) return tl::unexpected(paths.error());
  if (!paths) session.log().warning("reports/ was not written: {}", paths.error().message);
  const auto path = [&](std::filesystem::path report::ReportPaths::* which) {
    return paths ? Json(((*paths).*which).string()) : Json();
  };
  if (session.options().json) {
    session.print_json({{"schema", 1},
                        {"markdown", path(&report::ReportPaths::markdown)},
                        {"html", path(&report::ReportPaths::html)},
                        {"progress", path(&report::ReportPaths::progress)},
                        {"projection", options.model ? report::to_json(*options.model) : Json()},
                        {"no_projection", no_projection(options)}});
    return 0;
  }
  session.print(report::terminal(report));
  if (paths) {
    session.print(fmt::format("\nmarkdown: {}\nprogress: {}\nhtml: {}\n", paths->markdown.string(),
                              paths->progress.string(), paths->html.string()));
  }
  return 0;
}

}  // namespace ak::cli
