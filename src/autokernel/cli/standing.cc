#include "autokernel/cli/standing.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autokernel/campaign/torch_times.h"
#include "autokernel/cli/planning.h"

namespace ak::cli {
namespace {

/// Of the last experiment on a device of this kind ("" or "auto": any).
Result<std::optional<DeviceInfo>> last_device(const ledger::Ledger& ledger, const std::string& kind) {
  AK_TRY(experiments, ledger.experiments());
  for (auto each = experiments.rbegin(); each != experiments.rend(); ++each) {
    AK_TRY(context, ledger.context(each->id));
    if (kind.empty() || kind == "auto" || kind.starts_with(context.device.kind))
      return std::optional(std::move(context.device));
  }
  return std::optional<DeviceInfo>();
}

/// "; a search was interrupted after 5 trials"; empty: every search has ended.
std::string unfinished_text(const campaign::Reached& reached, ledger::Unfinished unfinished) {
  if (!reached.unfinished) return "";
  return unfinished == ledger::Unfinished::kRunning
             ? fmt::format("a search is at trial {}", *reached.unfinished)
             : fmt::format("a search was interrupted after {} trials, the same command goes on",
                           *reached.unfinished);
}

void append(std::string& text, const std::string& more) {
  if (!more.empty()) text += (text.empty() ? "" : "; ") + more;
}

/// "kept", "the starter stays", ..., and why the campaign left the target.
std::string outcome_of(const campaign::QueuedTarget& target, ledger::Unfinished unfinished) {
  const campaign::Reached& reached = target.reached;
  const bool searched = reached.searches > 0 || reached.last != Decision::kStart;
  std::string text = reached.speedup > 1            ? "kept"
                     : reached.start_us && searched ? "the starter stays"
                     : reached.start_us             ? "only the starter was measured"
                     : reached.experiments > 0      ? reached.last_description
                     : reached.unfinished           ? ""
                                                    : "not begun";
  append(text, unfinished_text(reached, unfinished));
  if (target.moved_on) append(text, "left: " + *target.moved_on);
  return text;
}

report::SiteRow site_row(const plan::PlanSite& site, const campaign::QueuedTarget& target,
                         ledger::Unfinished unfinished) {
  const campaign::Reached& reached = target.reached;
  report::SiteRow row;
  row.site = site.id;
  row.target = target.entry.id;
  row.problem = site.problem.label();
  row.calls = site.calls;
  row.model_us = site.time_us;
  row.share = site.share;
  if (site.calls > 0 && reached.start_us) row.start_us = *reached.start_us / site.calls;
  if (site.calls > 0 && reached.incumbent_us) row.best_us = *reached.incumbent_us / site.calls;
  row.speedup = reached.speedup;
  if (reached.config) row.config = reached.config->to_string();
  row.verdict = outcome_of(target, unfinished);
  row.reduced = target.entry.reduced;
  row.trials = reached.trials;
  row.spent_s = reached.hours * 3600;
  return row;
}

std::string why_other(const plan::Plan& plan, const std::string& target, std::size_t top) {
  const auto site = std::find_if(plan.sites.begin(), plan.sites.end(),
                                 [&](const plan::PlanSite& each) { return is_of_site(target, each); });
  if (site == plan.sites.end()) return "not in this plan";
  if (site->priority == 0) return "not worthwhile in this plan";
  if (static_cast<std::size_t>(site->priority) > top) return fmt::format("not among the first {} sites", top);
  return "cannot be measured here";
}

/// Of any tag: a target of `tune` too.
Result<OtherTarget> other_target(const ledger::Workspace& workspace, const Standing& standing,
                                 const std::string& id, std::size_t top) {
  AK_TRY(target, workspace.ledger().target(id));
  campaign::QueueEntry entry{.id = id, .site = {}, .label = {}};
  std::size_t problems = 0;
  for (const TargetProblem& each : target.problems) {
    if (each.role != Role::kPrimary) continue;
    if (problems++ == 0) entry.label = each.problem.label();
    entry.calls = each.calls;
  }
  if (problems > 1) {
    entry.calls = 1;  // the sum over the problems
    entry.label = fmt::format("{} problems together", problems);
  }
  if (id.ends_with(kRehearsal)) {
    const Result<Target> whole = workspace.ledger().target(id.substr(0, id.size() - kRehearsal.size()));
    entry.reduced = entry.label;
    entry.label = whole ? whole->problems.front().problem.label() : "a larger problem";
  }
  for (const plan::PlanSite& site : standing.plan.sites) {
    if (!is_of_site(id, site)) continue;
    entry.site = site.id;
    entry.model_us = site.time_us;
    entry.model_share = site.share;
  }
  AK_TRY(queue, campaign::Queue::load(workspace.ledger(), {entry}, {},
                                      standing.device ? standing.device->uuid : "", ""));
  OtherTarget other{queue.targets().front(), why_other(standing.plan, id, top)};
  other.target.moved_on.reset();
  return other;
}

/// Those of the workspace that are not in the queue.
Status add_others(const ledger::Workspace& workspace, std::size_t top, Standing& standing) {
  AK_TRY(ids, workspace.ledger().target_ids());
  for (const std::string& id : ids) {
    const auto& queued = standing.queue.targets();
    const bool listed = std::any_of(queued.begin(), queued.end(), [&](const auto& each) {
      return each.entry.id == id || each.entry.site == id;
    });
    if (listed || stands_aside(id, ids, standing.device ? standing.device->kind : "")) continue;
    AK_TRY(other, other_target(workspace, standing, id, top));
    AK_TRY(edited, is_edited(workspace, id));
    if (edited) standing.edited.insert(id);
    standing.others.push_back(std::move(other));
  }
  return {};
}

}  // namespace

bool stands_aside(const std::string& id, const std::vector<std::string>& ids, std::string_view device_kind) {
  if (device_kind != "cpu") return id.ends_with(kRehearsal);
  return std::find(ids.begin(), ids.end(), fmt::format("{}{}", id, kRehearsal)) != ids.end();
}

Result<bool> is_edited(const ledger::Workspace& workspace, const std::string& target) {
  const Result<std::string> text = workspace.kernel_text(target);
  if (!text) return false;
  AK_TRY(unedited, workspace.unedited_kernel(target));
  return unedited && *unedited != *text;
}

std::filesystem::path kernel_file(const ledger::Workspace& workspace, const campaign::QueueEntry& entry) {
  std::error_code ignored;
  const std::filesystem::path own = workspace.target_folder(entry.id) / "kernel.cu";
  if (std::filesystem::exists(own, ignored)) return own;
  return workspace.target_folder(entry.site) / "kernel.cu";  // a rehearsal that was not begun
}

Result<Standing> standing(Session& session, const ledger::Workspace& workspace, std::size_t top) {
  AK_TRY(settings, session.settings({}));
  AK_TRY(planned, stored_plan(session, workspace.folder()));
  Standing result;
  AK_TRY(device, last_device(workspace.ledger(), session.options().device));
  AK_TRY(targets, measurable_targets(session, workspace, planned, top, device.value_or(DeviceInfo{}),
                                     result.left_out));
  std::vector<campaign::QueueEntry> entries;
  for (const campaign::OptimizeTarget& each : targets) {
    const std::string folder = kernel_file(workspace, each.entry).parent_path().filename().string();
    AK_TRY(edited, is_edited(workspace, folder));
    if (edited) result.edited.insert(each.entry.id);
    entries.push_back(each.entry);
  }
  AK_TRY(queue, campaign::Queue::load(workspace.ledger(), entries, campaign::MoveOnRules::from(settings),
                                      device ? device->uuid : "", kCampaignTag));
  result.plan = std::move(planned);
  result.queue = std::move(queue);
  result.device = std::move(device);
  result.unfinished = workspace.unfinished();
  AK_TRY_VOID(add_others(workspace, top, result));
  return result;
}

Result<report::ModelReport> model_report(const ledger::Ledger& ledger, const plan::Plan& plan,
                                         const std::vector<campaign::QueuedTarget>& targets,
                                         const DeviceInfo& device, ledger::Unfinished unfinished) {
  report::ModelReport model;
  model.device_kind = device.kind;
  model.device_name = device.name;
  model.trace_device = plan.device;
  model.total_us = plan.total_us;
  for (const plan::PlanSite& site : plan.sites) {
    const auto found = std::find_if(targets.begin(), targets.end(),
                                    [&](const auto& each) { return each.entry.site == site.id; });
    if (found == targets.end()) continue;
    AK_TRY(torch, campaign::torch_times(ledger, found->entry.id, device.uuid));
    model.sites.push_back(site_row(site, *found, unfinished));
    if (!torch.empty()) model.sites.back().torch_us = torch.begin()->second.times_us;
  }
  report::project(model);
  return model;
}

report::BuildOptions report_options(Session& session, const ledger::Workspace& workspace) {
  report::BuildOptions options;
  options.unfinished = workspace.unfinished();
  std::error_code ignored;
  if (!std::filesystem::exists(workspace.folder() / "plan.json", ignored)) return options;
  const Result<Standing> now = standing(session, workspace, SIZE_MAX);
  if (!now) {
    session.log().warning("the report says nothing of the model: {}", now.error().message);
    return options;
  }
  if (!now->device) return options;
  Result<report::ModelReport> model =
      model_report(workspace.ledger(), now->plan, now->queue.targets(), *now->device, now->unfinished);
  if (model) {
    options.model = std::move(*model);
  } else {
    session.log().warning("the report says nothing of the model: {}", model.error().message);
  }
  return options;
}

std::string state_of(const campaign::QueuedTarget& target, const std::set<std::string>& edited,
                     ledger::Unfinished unfinished) {
  const campaign::Reached& reached = target.reached;
  std::string state = target.moved_on            ? *target.moved_on
                      : reached.unfinished       ? ""
                      : reached.experiments == 0 ? "not begun"
                      : reached.searches == 0 && reached.reverts == 0 && reached.speedup == 1
                          ? "open: only the start was measured"
                          : "open";
  append(state, unfinished_text(reached, unfinished));
  if (edited.contains(target.entry.id)) append(state, "edited, not recorded");
  return state;
}

Json target_json(const campaign::QueuedTarget& target, const std::optional<DeviceInfo>& device) {
  const campaign::Reached& reached = target.reached;
  auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  return {{"id", target.entry.id},
          {"site", target.entry.site},
          {"problem", target.entry.label},
          {"reduced_problem", target.entry.reduced.empty() ? Json() : Json(target.entry.reduced)},
          {"calls", static_cast<std::int64_t>(std::llround(target.entry.calls))},
          {"share", target.entry.model_share > 0 ? Json(target.entry.model_share) : Json()},
          {"share_now", device && device->kind != "cpu" ? Json(target.share) : Json()},
          {"model_us", target.entry.model_us},
          {"start_us", number(reached.start_us)},
          {"best_us", number(reached.best_us)},
          {"floor_us", number(reached.floor_us)},
          {"baseline_us", number(reached.baseline_us)},
          {"speedup", reached.speedup},
          {"experiments", reached.experiments},
          {"trials", reached.trials},
          {"unfinished_trials", reached.unfinished ? Json(*reached.unfinished) : Json()},
          {"reverts", reached.reverts},
          {"hours", reached.hours},
          {"moved_on", target.moved_on ? Json(*target.moved_on) : Json()}};
}

}  // namespace ak::cli
