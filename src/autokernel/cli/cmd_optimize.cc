// The campaign's commands: optimize, status, next.

#include <fmt/format.h>

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

std::string time_or_dash(const std::optional<double>& us) { return us ? format_us(*us) : "-"; }

std::string queue_table(const std::vector<QueuedTarget>& targets, const std::vector<std::string>& states) {
  using Align = TextTable::Align;
  TextTable table(
      {"target", "problem in the model", "share now", "start", "best", "speedup", "of floor", "state"},
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
       Align::kLeft});
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const campaign::Reached& reached = targets[i].reached;
    const bool floor = reached.floor_us && reached.best_us;
    table.add_row(
        {targets[i].entry.id, targets[i].entry.label, fmt::format("{:.1f} %", 100 * targets[i].share),
         time_or_dash(reached.start_us), time_or_dash(reached.best_us),
         reached.start_us ? fmt::format("{:.3f}x", reached.speedup) : "-",
         floor ? fmt::format("{:.0f} %", 100 * *reached.floor_us / *reached.best_us) : "-", states[i]});
  }
  return table.plain();
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
    states.push_back(each.error || each.start_failure ? failure_of(each) : state_of(each.state, {}));
  }
  std::string text = fmt::format("device: {} ({})\nstopped: {}\n\n{}\n", result.device.name,
                                 result.device.kind, result.stop_reason, queue_table(targets, states));
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

Json optimize_json(const campaign::OptimizeResult& result, const report::ModelReport& model) {
  Json targets = Json::array();
  for (const OptimizedTarget& each : result.targets) {
    Json json = target_json(each.state);
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
  AK_TRY(workspace, ledger::Workspace::open(session.workspace_folder(), session.clock()));
  for (const std::string& action : workspace.repairs().actions) session.log().info("repaired: {}", action);
  AK_TRY_VOID(store_plan(workspace, planned));
  AK_TRY_VOID(extract_targets(session, workspace, planned, options.top, pool->hello().device));
  std::vector<std::string> why_not;
  AK_TRY(targets,
         measurable_targets(session, workspace, planned, options.top, pool->hello().device, why_not));
  for (const std::string& each : why_not) session.log().warning("{}", each);
  if (targets.empty()) {
    session.log().info("no worthwhile candidate that can be measured here: nothing to do");
    if (session.options().json) session.print_json(optimize_json({}, {}));
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
                                        session.log().info("{}: {} ({:.1f} % of the time of all targets)",
                                                           now.target.entry.id, now.target.entry.label,
                                                           100 * now.target.share);
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
    session.print_json(optimize_json(result, model));
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
      targets.push_back(target_json(each));
      targets.back()["edited"] = now.edited.contains(each.entry.id);
    }
    session.print_json({{"schema", 1},
                        {"device", device_json(now.device)},
                        {"targets", std::move(targets)},
                        {"left_out", now.left_out}});
    return 0;
  }
  std::vector<std::string> states;
  for (const QueuedTarget& each : now.queue.targets()) states.push_back(state_of(each, now.edited));
  std::string text = now.device ? fmt::format("device: {} ({})\n\n", now.device->name, now.device->kind)
                                : "device: none yet: nothing was measured\n\n";
  text += queue_table(now.queue.targets(), states);
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
    Json json = target_json(*next);
    json["kernel"] = kernel;
    json["edited"] = edited;
    json["record"] = record;
    session.print_json({{"schema", 1}, {"next", std::move(json)}});
    return 0;
  }
  session.print(fmt::format(
      "target: {}\nkernel: {}\nproblem: {}\nshare: {:.1f} %\nreverts: {} in a row\nedited: {}\nthen: {}\n",
      next->entry.id, kernel, next->entry.label, 100 * next->share, next->reached.reverts,
      edited ? "yes" : "no",
      edited ? record
             : fmt::format("edit the kernel file (nothing else), then {} --note \"why\"; or let `autokernel "
                           "optimize` tune it",
                           record)));
  return 0;
}

}  // namespace ak::cli
