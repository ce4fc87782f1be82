#include "autokernel/cli/standing.h"

#include <algorithm>
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

/// "kept", "the starter stays", ..., and why the campaign left the target.
std::string outcome_of(const campaign::QueuedTarget& target) {
  const campaign::Reached& reached = target.reached;
  std::string text = reached.speedup > 1        ? "kept"
                     : reached.start_us         ? "the starter stays"
                     : reached.experiments == 0 ? "not begun"
                                                : reached.last_description;
  if (target.moved_on) text += "; left: " + *target.moved_on;
  return text;
}

report::SiteRow site_row(const plan::PlanSite& site, const campaign::QueuedTarget& target) {
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
  row.verdict = outcome_of(target);
  row.trials = reached.trials;
  row.spent_s = reached.hours * 3600;
  return row;
}

}  // namespace

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
  return result;
}

Result<report::ModelReport> model_report(const ledger::Ledger& ledger, const plan::Plan& plan,
                                         const std::vector<campaign::QueuedTarget>& targets,
                                         const DeviceInfo& device) {
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
    model.sites.push_back(site_row(site, *found));
    if (!torch.empty()) model.sites.back().torch_us = torch.begin()->second.times_us;
  }
  report::project(model);
  return model;
}

report::BuildOptions report_options(Session& session, const ledger::Workspace& workspace) {
  report::BuildOptions options;
  std::error_code ignored;
  if (!std::filesystem::exists(workspace.folder() / "plan.json", ignored)) return options;
  const Result<Standing> now = standing(session, workspace, SIZE_MAX);
  if (!now) {
    session.log().warning("the report says nothing of the model: {}", now.error().message);
    return options;
  }
  if (!now->device) return options;
  Result<report::ModelReport> model =
      model_report(workspace.ledger(), now->plan, now->queue.targets(), *now->device);
  if (model) {
    options.model = std::move(*model);
  } else {
    session.log().warning("the report says nothing of the model: {}", model.error().message);
  }
  return options;
}

std::string state_of(const campaign::QueuedTarget& target, const std::set<std::string>& edited) {
  const std::string state = target.moved_on                   ? *target.moved_on
                            : target.reached.experiments == 0 ? "not begun"
                                                              : "open";
  return edited.contains(target.entry.id) ? state + "; edited, not recorded" : state;
}

Json target_json(const campaign::QueuedTarget& target) {
  const campaign::Reached& reached = target.reached;
  auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  return {{"id", target.entry.id},
          {"site", target.entry.site},
          {"problem", target.entry.label},
          {"share", target.share},
          {"model_us", target.entry.model_us},
          {"start_us", number(reached.start_us)},
          {"best_us", number(reached.best_us)},
          {"floor_us", number(reached.floor_us)},
          {"baseline_us", number(reached.baseline_us)},
          {"speedup", reached.speedup},
          {"experiments", reached.experiments},
          {"trials", reached.trials},
          {"reverts", reached.reverts},
          {"hours", reached.hours},
          {"moved_on", target.moved_on ? Json(*target.moved_on) : Json()}};
}

}  // namespace ak::cli
