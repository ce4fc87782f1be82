// The campaign's commands: optimize, status, next.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/progress.h"
#include "autokernel/base/text_table.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/model_profile.h"
#include "autokernel/cli/planning.h"
#include "autokernel/cli/standing.h"
#include "autokernel/cli/verdict_text.h"
#include "autokernel/report/report.h"
#include "autokernel/search/strategy.h"

namespace ak::cli {
namespace {

using campaign::OptimizedTarget;
using campaign::QueuedTarget;

/// Of one call, where the objective is of all of them.
std::string call_time(const std::optional<double>& us, double calls) {
  return us && calls > 0 ? format_us(*us / calls) : "-";
}

std::string percent_or_dash(double share) { return share > 0 ? fmt::format("{:.1f} %", 100 * share) : "-"; }

/// Shares are of the model's device time, times of one call. Problems that a rehearsal reduced have a column,
/// and what was kept moves shares on a GPU only.
std::string queue_table(const std::vector<QueuedTarget>& targets, const std::vector<std::string>& states,
                        const std::optional<DeviceInfo>& device) {
  using Align = TextTable::Align;
  const bool on_cpu = !device || device->kind == "cpu";
  const bool reduced = std::any_of(targets.begin(), targets.end(),
                                   [](const QueuedTarget& each) { return !each.entry.reduced.empty(); });
  std::vector<std::string> header;
  std::vector<Align> align;
  const auto column = [&](const char* name, Align side) {
    header.emplace_back(name);
    align.push_back(side);
  };
  column("target", Align::kLeft);
  column("problem", Align::kLeft);
  column("calls", Align::kRight);
  column("share", Align::kRight);
  if (!on_cpu) column("share now", Align::kRight);
  if (reduced) column("measured here, reduced", Align::kLeft);
  for (const char* name : {"start, a call", "best, a call", "speedup", "of floor"})
    column(name, Align::kRight);
  column("state", Align::kLeft);
  TextTable table(std::move(header), std::move(align));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const campaign::QueueEntry& entry = targets[i].entry;
    const campaign::Reached& reached = targets[i].reached;
    const bool floor = reached.floor_us && reached.best_us;
    std::vector<std::string> row = {entry.id, entry.label, fmt::format("{:g}", entry.calls),
                                    percent_or_dash(entry.model_share)};
    if (!on_cpu) row.push_back(entry.model_share > 0 ? percent_or_dash(targets[i].share) : "-");
    if (reduced) row.push_back(entry.reduced.empty() ? "-" : entry.reduced);
    row.push_back(call_time(reached.start_us, entry.calls));
    row.push_back(call_time(reached.best_us, entry.calls));
    row.push_back(reached.start_us ? fmt::format("{:.3f}x", reached.speedup) : "-");
    row.push_back(floor ? fmt::format("{:.0f} %", 100 * *reached.floor_us / *reached.best_us) : "-");
    row.push_back(states[i]);
    table.add_row(std::move(row));
  }
  return table.plain();
}

/// "the budget is spent; not begun: 2 of 3 targets"
std::string stop_text(const campaign::OptimizeResult& result) {
  const auto untouched = std::count_if(result.targets.begin(), result.targets.end(), [](const auto& each) {
    return !each.error && !each.start_failure && !each.state.reached.unfinished &&
           each.state.reached.experiments == 0;
  });
  if (untouched == 0) return result.stop_reason;
  return fmt::format("{}; not begun: {} of {} targets", result.stop_reason, untouched, result.targets.size());
}

Json device_json(const std::optional<DeviceInfo>& device) {
  return device ? Json{{"kind", device->kind}, {"name", device->name}} : Json();
}

std::string failure_of(const OptimizedTarget& target) {
  if (target.error) return "not measured: " + *target.error;
  return fmt::format("its kernel fails ({}): {}", name(target.start_failure->kind),
                     target.start_failure->message);
}

std::string optimize_text(const campaign::OptimizeResult& result, const report::ModelReport& model) {
  std::vector<QueuedTarget> targets;
  std::vector<std::string> states;
  for (const OptimizedTarget& each : result.targets) {
    targets.push_back(each.state);
    states.push_back(each.error || each.start_failure
                         ? failure_of(each)
                         : state_of(each.state, {}, ledger::Unfinished::kInterrupted));
  }
  std::string text =
      fmt::format("device: {} ({})\nstopped: {}\n\n{}\n", result.device.name, result.device.kind,
                  stop_text(result), queue_table(targets, states, result.device));
  for (const OptimizedTarget& each : result.targets) {
    if (each.kernel_path.empty()) continue;
    std::string failed;
    for (const auto& [kind, count] : each.failed) failed += fmt::format(", {} {}", count, kind);
    text += fmt::format("{}: {:.0f} s{}; {}\n", each.state.entry.id, each.wall_s, failed, each.kernel_path);
  }
  text +=
      "note: best is the start divided by the confirmed speedups; the report quotes the confirmations' own "
      "times\n";
  return text + "\n" + report::terminal(model);
}

Json optimize_json(const campaign::OptimizeResult& result, const report::ModelReport& model,
                   const std::vector<std::string>& repaired) {
  Json targets = Json::array();
  for (const OptimizedTarget& each : result.targets) {
    Json json = target_json(each.state, result.device);
    json["kernel"] = each.kernel_path.empty() ? Json() : Json(each.kernel_path);
    json["failure"] = each.start_failure ? to_json(*each.start_failure) : Json();
    json["error"] = each.error ? Json(*each.error) : Json();
    json["failed"] = each.failed;
    json["wall_s"] = each.wall_s;
    targets.push_back(std::move(json));
  }
  return {{"schema", 1},
          {"stopped", result.stop_reason},
          {"interrupted", result.interrupted},
          {"rehearsal", result.device.kind == "cpu"},
          {"projection", report::to_json(model)},
          {"no_projection", model.projected ? Json() : Json(model.no_projection)},
          {"experiments", result.experiments},
          {"repaired", repaired},
          {"targets", std::move(targets)},
          {"wall_s", result.wall_s},
          {"device", {{"kind", result.device.kind}, {"name", result.device.name}}}};
}

/// Targets that cannot be measured are in no queue; the report says why.
void name_failures(const campaign::OptimizeResult& result, report::ModelReport& model) {
  for (const OptimizedTarget& target : result.targets) {
    if (!target.error && !target.start_failure) continue;
    for (report::SiteRow& row : model.sites) {
      if (row.target == target.state.entry.id) row.verdict = failure_of(target);
    }
  }
}

Result<campaign::OptimizeRequest> make_request(const OptimizeOptions& options,
                                               const ledger::Settings& settings,
                                               std::vector<campaign::OptimizeTarget> targets) {
  campaign::OptimizeRequest request;
  request.targets = std::move(targets);
  request.rules = campaign::MoveOnRules::from(settings);
  request.tag = kCampaignTag;
  request.strategy = settings.get_text("strategy");
  request.budget = settings.get_budget("budget");
  request.seed = static_cast<std::uint64_t>(settings.get_count("seed"));
  request.threshold = settings.get_number("threshold");
  if (!options.settings.contains("budget") &&
      settings.get("budget").source == ledger::SettingSource::kDefault) {
    request.budget = {.trials = std::nullopt, .time = std::chrono::minutes(10)};
  }
  return request;
}

}  // namespace

Result<int> run_optimize(Session& session, const OptimizeOptions& options) {
  AK_TRY(settings, session.settings(options.settings));
  AK_TRY_VOID(search::check_strategy(settings.get_text("strategy")));
  AK_TRY(planned, plan_of(session, options.file, options.model));
  AK_TRY(pool, session.start_pool());
  AK_TRY(workspace, session.open_workspace());
  AK_TRY_VOID(store_plan(session, workspace, planned));
  AK_TRY_VOID(extract_targets(session, workspace, planned, options.top, pool->hello().device));
  std::vector<std::string> why_not;
  AK_TRY(targets,
         measurable_targets(session, workspace, planned, options.top, pool->hello().device, why_not));
  for (const std::string& each : why_not) session.log().warning("{}", each);
  for (const campaign::OptimizeTarget& each : targets) {
    if (!each.entry.reduced.empty()) announce_rehearsal(session, each.entry.label, each.entry.reduced);
  }
  if (targets.empty()) {
    session.log().info("no worthwhile candidate that can be measured here: nothing to do");
    if (session.options().json) session.print_json(optimize_json({}, {}, workspace.repairs().actions));
    return 0;
  }
  AK_TRY(registry, session.registry());
  AK_TRY(request, make_request(options, settings, std::move(targets)));
  Progress progress("optimize", std::nullopt, session.clock(),
                    session.options().quiet ? Progress::Style::kNone : Progress::Style::kAuto);
  std::size_t configs = 0;
  AK_TRY(baselines, session.baselines(pool->hello().device, options.settings));
  AK_TRY(result, campaign::optimize({workspace, *pool, *registry, session.clock(), session.log(), kVersion,
                                     !session.options().unsafe_no_sandbox, baselines ? &*baselines : nullptr},
                                    session.stop(), request, [&](const campaign::OptimizeProgress& now) {
                                      if (now.config == nullptr) {
                                        session.log().info("{}: {} ({:.1f} % of the model's device time)",
                                                           now.target.entry.id, now.target.entry.label,
                                                           100 * now.target.entry.model_share);
                                        return;
                                      }
                                      progress.update(++configs, now.target.entry.id);
                                    }));
  progress.finish();
  std::vector<QueuedTarget> reached;
  for (const OptimizedTarget& each : result.targets) reached.push_back(each.state);
  AK_TRY(model, model_report(workspace.ledger(), planned, reached, result.device));
  name_failures(result, model);
  const bool measured =
      std::any_of(result.targets.begin(), result.targets.end(),
                  [](const OptimizedTarget& each) { return each.state.reached.experiments > 0; });
  if (session.options().json) {
    session.print_json(optimize_json(result, model, workspace.repairs().actions));
  } else {
    session.print(optimize_text(result, model));
  }
  if (measured) {
    AK_TRY(reports, report::write_reports(workspace, {.target = "", .tag = "", .model = model}));
    if (!session.options().json) session.print(fmt::format("report: {}\n", reports.html.string()));
  }
  if (result.interrupted)
    return tl::unexpected(Error{ErrorCode::kInterrupted, "interrupted; the same command goes on from there"});
  return 0;
}

Result<int> run_status(Session& session, const CampaignOptions& options) {
  AK_TRY(workspace, ledger::Workspace::open_read_only(session.workspace_folder(), session.clock()));
  AK_TRY(now, standing(session, workspace, options.top));
  if (session.options().json) {
    Json targets = Json::array();
    for (const QueuedTarget& each : now.queue.targets()) {
      targets.push_back(target_json(each, now.device));
      targets.back()["edited"] = now.edited.contains(each.entry.id);
    }
    Json others = Json::array();
    for (const OtherTarget& each : now.others) {
      others.push_back(target_json(each.target, now.device));
      others.back()["edited"] = now.edited.contains(each.target.entry.id);
      others.back()["why"] = each.why;
    }
    session.print_json({{"schema", 1},
                        {"device", device_json(now.device)},
                        {"targets", std::move(targets)},
                        {"others", std::move(others)},
                        {"left_out", now.left_out}});
    return 0;
  }
  std::vector<std::string> states;
  for (const QueuedTarget& each : now.queue.targets())
    states.push_back(state_of(each, now.edited, now.unfinished));
  std::string text = now.device ? fmt::format("device: {} ({})\n\n", now.device->name, now.device->kind)
                                : "device: none yet: nothing was measured\n\n";
  text += queue_table(now.queue.targets(), states, now.device);
  if (!now.others.empty()) {
    std::vector<QueuedTarget> others;
    states.clear();
    for (const OtherTarget& each : now.others) {
      others.push_back(each.target);
      states.push_back(fmt::format("{}; {}", each.why, state_of(each.target, now.edited, now.unfinished)));
    }
    text += "\nother targets of the workspace\n" + queue_table(others, states, now.device);
  }
  for (const std::string& each : now.left_out) text += each + "\n";
  session.print(text);
  return 0;
}

Result<int> run_next(Session& session, const CampaignOptions& options) {
  AK_TRY(workspace, ledger::Workspace::open_read_only(session.workspace_folder(), session.clock()));
  AK_TRY(now, standing(session, workspace, options.top));
  const QueuedTarget* next = now.queue.next();
  if (next == nullptr) {
    if (session.options().json) session.print_json({{"schema", 1}, {"next", nullptr}});
    if (!session.options().json) {
      session.print(now.queue.targets().empty()
                        ? "nothing: no site of the plan is extracted yet: autokernel extract\n"
                        : "nothing: every target was left (autokernel status says why); an edit that is kept "
                          "opens it again\n");
    }
    return 0;
  }
  const std::string kernel = kernel_file(workspace, next->entry).string();
  const std::string folder = std::filesystem::path(kernel).parent_path().filename().string();
  const bool edited = now.edited.contains(next->entry.id);
  const std::string record = fmt::format("autokernel record --target {}", folder);
  if (session.options().json) {
    Json json = target_json(*next, now.device);
    json["kernel"] = kernel;
    json["edited"] = edited;
    json["record"] = record;
    session.print_json({{"schema", 1}, {"next", std::move(json)}});
    return 0;
  }
  session.print(fmt::format(
      "target: {}\nkernel: {}\nproblem: {}\nshare: {:.1f} % of the model's device time\nreverts: {} in a "
      "row\nedited: {}\nthen: {}\n",
      next->entry.id, kernel, next->entry.label, 100 * next->entry.model_share, next->reached.reverts,
      edited ? "yes" : "no",
      edited ? record
             : fmt::format("edit the kernel file (nothing else), then {} --note \"why\"; or let `autokernel "
                           "optimize` tune it",
                           record)));
  return 0;
}

}  // namespace ak::cli
