// record: a target's kernel file was edited; the gate measures it and decides.

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/campaign/record.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/planning.h"
#include "autokernel/cli/standing.h"
#include "autokernel/cli/verdict_text.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/op/target_file.h"
#include "autokernel/report/report.h"

namespace ak::cli {
namespace {

constexpr std::size_t kMaxNote = 500;

/// The target that was edited: the one that is named, else the only one whose kernel.cu changed.
Result<std::string> edited_target(Session& session, const ledger::Workspace& workspace,
                                  const std::string& named) {
  AK_TRY(ids, workspace.ledger().target_ids());
  if (!named.empty()) {
    if (std::find(ids.begin(), ids.end(), named) != ids.end()) return named;
    return usage_error(
        "--target {}: there is no such target; the workspace has {}", named,
        ids.empty() ? "none: make them with autokernel extract" : fmt::format("{}", fmt::join(ids, ", ")));
  }
  AK_TRY(device, session.device_kind());
  std::vector<std::string> edited;
  for (const std::string& id : ids) {
    if (stands_aside(id, ids, device)) continue;
    AK_TRY(changed, is_edited(workspace, id));
    if (changed) edited.push_back(id);
  }
  if (edited.size() == 1) return edited.front();
  if (edited.empty()) {
    return usage_error(
        "no kernel.cu of the workspace {} was edited: there is nothing to measure. Edit the file that "
        "`autokernel next` names (or name a target with --target)",
        workspace.folder().string());
  }
  return usage_error("several targets were edited ({}): name one with --target", fmt::join(edited, ", "));
}

/// target.toml is what a kernel is judged on: never an edit's to change.
Status check_target_file(const ledger::Workspace& workspace, const std::string& id) {
  const std::filesystem::path path = workspace.target_folder(id) / "target.toml";
  AK_TRY(text, read_file(path));
  AK_TRY(known, workspace.ledger().target_toml(id));
  if (text == known) return {};
  return usage_error(
      "{}: it was changed, but it is what the kernel is judged on. Only kernel.cu is to be edited; "
      "`autokernel extract` (or `tune` of your file) writes target.toml again",
      path.string());
}

std::string one_line(std::string note) {
  for (char& c : note) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return note.substr(0, kMaxNote);
}

Result<campaign::RecordRequest> make_request(Session& session, const ledger::Workspace& workspace,
                                             const std::string& id, const RecordOptions& options,
                                             const DeviceInfo& device) {
  const std::filesystem::path path = workspace.target_folder(id) / "kernel.cu";
  AK_TRY_VOID(check_target_file(workspace, id));
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return usage_error(
        "{} is missing, and nothing was measured of it that could be put there: `autokernel extract` makes "
        "it "
        "again for a target of the plan, `autokernel tune FILE` for another",
        path.string());
  }
  AK_TRY(loaded, load_kernel(session, path.string(), {}, device));
  const std::filesystem::path rehearsal = workspace.target_folder(loaded.target.id) / "kernel.cu";
  if (loaded.target.id != id && std::filesystem::exists(rehearsal, ignored)) {
    return usage_error(
        "target {} is too large for this device, where {} stands for it: edit {} and record that", id,
        loaded.target.id, rehearsal.string());
  }
  AK_TRY(settings, session.settings({}));
  AK_TRY(unedited, workspace.unedited_kernel(id));
  AK_TRY(incumbent, workspace.ledger().incumbent(loaded.target.id));
  campaign::RecordRequest request;
  request.tag = incumbent ? incumbent->tag : kCampaignTag;
  request.target_toml = op::format_target(loaded.target);
  request.target = std::move(loaded.target);
  request.kernel_name = path.string();
  request.kernel_text = std::move(loaded.file.text);
  request.unedited = std::move(unedited);
  request.note = one_line(options.note);
  request.threshold = settings.get_number("threshold");
  return request;
}

bool is_kept(const campaign::RecordResult& result) {
  return result.decision == Decision::kKept || result.decision == Decision::kStart;
}

std::string record_text(const campaign::RecordResult& result, const ledger::Workspace& workspace,
                        const std::string& kernel, const Target& target) {
  const std::string scope = objective_scope(target);
  const std::string of = scope.empty() ? "" : fmt::format(", {}", scope);
  std::string out = fmt::format("target: {}\nkernel: {}\ndevice: {} ({}{})\nexperiment: {}\ndecision: {}\n",
                                result.experiment.target, kernel, result.device.name, result.device.kind,
                                result.device.kind == "cpu" ? ": CPU timings, caches warm" : "",
                                result.experiment.id, name(result.decision));
  if (result.failure) {
    out +=
        fmt::format("failure_kind: {}\nfailure_check: {}\nfailure: {}\nsee: {}\n", name(result.failure->kind),
                    result.failure->check, result.failure->message, where_explained(*result.failure));
  }
  if (result.comparison) {
    out += fmt::format(
        "before: {}  (experiment {}{})\nedited: {}\nspeedup: {:.3f}x (95 % CI {:.3f} to {:.3f})\n",
        format_us(result.comparison->incumbent.median_us), result.start_experiment, of,
        format_us(result.time.median_us), result.comparison->ratio, result.comparison->ci_low,
        result.comparison->ci_high);
  }
  out += fmt::format("reason: {}\n", result.summary);
  if (is_kept(result)) return out;
  out += result.start_experiment == 0
             ? "kernel.cu stays as it is: there is nothing that passes to go back to\n"
             : "kernel.cu is again what it was before\n";
  return out +
         fmt::format(
             "the edit is not lost: autokernel show {0}, or git -C {1} show refs/autokernel/rejected/{0}\n",
             result.experiment.id, workspace.folder().string());
}

/// What the campaign does next, where the workspace has a plan.
Status add_next(Session& session, const ledger::Workspace& workspace, const std::string& target, Json& json,
                std::string& text) {
  const Result<Standing> now = standing(session, workspace, SIZE_MAX);
  json["moved_on"] = json["next"] = nullptr;
  if (!now) return {};  // a workspace of `tune` has no plan
  for (const campaign::QueuedTarget& each : now->queue.targets()) {
    if (each.entry.id != target) continue;
    text += fmt::format("state: {}\n", state_of(each, now->edited, now->unfinished));
    if (each.moved_on) json["moved_on"] = *each.moved_on;
  }
  if (const campaign::QueuedTarget* next = now->queue.next()) {
    json["next"] = next->entry.id;
    text += fmt::format("next: {} ({})\n", next->entry.id, kernel_file(workspace, next->entry).string());
  }
  return {};
}

}  // namespace

Result<int> run_record(Session& session, const RecordOptions& options) {
  {  // a workspace is not made just to say that it is empty
    AK_TRY(existing, ledger::Workspace::open_read_only(session.workspace_folder(), session.clock()));
  }
  AK_TRY(workspace, session.open_workspace());
  AK_TRY(id, edited_target(session, workspace, options.target));
  AK_TRY(pool, session.start_pool());
  const DeviceInfo& device = pool->hello().device;
  AK_TRY(request, make_request(session, workspace, id, options, device));
  AK_TRY(registry, session.registry());
  AK_TRY(baselines, session.baselines(device));
  AK_TRY(result, campaign::record({workspace, *pool, *registry, session.clock(), session.log(), kVersion,
                                   !session.options().unsafe_no_sandbox, baselines ? &*baselines : nullptr},
                                  session.stop(), request));
  AK_TRY(reports, report::write_reports(workspace, report_options(session, workspace)));
  const std::string kernel = (workspace.target_folder(request.target.id) / "kernel.cu").string();
  Json json = campaign::to_json(result);
  json["kernel"] = kernel;
  json["repaired"] = workspace.repairs().actions;
  std::string text = record_text(result, workspace, kernel, request.target);
  AK_TRY_VOID(add_next(session, workspace, request.target.id, json, text));
  if (session.options().json) {
    session.print_json(json);
  } else {
    session.print(text + fmt::format("report: {}\n", reports.html.string()));
  }
  return is_kept(result) ? 0 : 1;
}

}  // namespace ak::cli
