#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/base/text_table.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/planning.h"
#include "autokernel/plan/graph_values.h"
#include "autokernel/plan/profile_record.h"
#include "autokernel/roofline/gpu_table.h"

namespace ak::cli {
namespace {

constexpr std::size_t kMaxPlanBytes = 256u << 20;
constexpr std::size_t kShownModules = 60;

std::filesystem::path plan_file(const ledger::Workspace& workspace) {
  return workspace.folder() / "plan.json";
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string optional_text(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "?";
}

std::string shortened(std::string text) {
  if (text.size() > kShownModules) text = text.substr(0, kShownModules) + "...";
  return text;
}

std::string sites_table(const plan::Plan& plan, std::size_t top) {
  using Align = TextTable::Align;
  std::vector<std::string> names = {"#",   "site",     "problem", "calls", "us",     "share",
                                    "sum", "floor us", "x floor", "bound", "ceiling"};
  std::vector<Align> alignment = {Align::kRight, Align::kLeft,  Align::kLeft,  Align::kRight,
                                  Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                                  Align::kRight, Align::kLeft,  Align::kRight};
  const bool placed = std::any_of(plan.sites.begin(), plan.sites.end(),
                                  [](const auto& site) { return !site.places.empty(); });
  if (placed) {
    names.emplace_back("in");
    alignment.push_back(Align::kLeft);
  }
  TextTable table(std::move(names), std::move(alignment));
  for (const plan::PlanSite& site : plan.sites) {
    if (top-- == 0) break;
    std::optional<double> ratio;
    if (site.floor_us && *site.floor_us > 0) ratio = site.time_us / *site.floor_us;
    std::vector<std::string> row = {
        site.priority > 0 ? std::to_string(site.priority) : "-",
        site.id,
        site.problem.label(),
        fmt::format("{:.0f}", site.calls),
        fmt::format("{:.1f}", site.time_us),
        percent(site.share),
        percent(site.cumulative_share),
        optional_text(site.floor_us, 1),
        optional_text(ratio, 1),
        site.bound,
        std::isfinite(site.ceiling) ? fmt::format("{:.2f}x", site.ceiling) : "any"};
    if (placed) row.push_back(site.places.empty() ? "-" : shortened(plan::modules_text(site.places)));
    table.add_row(std::move(row));
  }
  return table.plain();
}

std::string other_text(const plan::Plan& plan, std::size_t top) {
  std::string text;
  double rest = 0;
  for (const plan::AtenShare& each : plan.other) {
    if (top > 0 && each.share >= 0.0005) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each.aten, percent(each.share));
      --top;
    } else {
      rest += each.share;
    }
  }
  if (rest >= 0.0005) text += fmt::format("{}others {}", text.empty() ? "" : ", ", percent(rest));
  return text.empty() ? "nothing" : text;
}

std::string plan_text(const plan::Plan& plan, std::size_t top) {
  std::string text = fmt::format("{:.1f} us, {} of it not attributed to an op\n\n", plan.total_us,
                                 percent(plan.unattributed_share));
  if (!plan.sites.empty()) text += sites_table(plan, top) + "\n";
  text += fmt::format("no family: {}\n", other_text(plan, top));
  const std::vector<const plan::PlanSite*> worthwhile = plan::by_priority(plan);
  if (worthwhile.empty()) {
    text += fmt::format("no worthwhile candidate: no site could make the model faster by {}\n",
                        percent(plan::kWorthwhileGain));
    return text;
  }
  const bool floors = worthwhile.front()->floor_us.has_value();
  if (floors) text += fmt::format("model ceiling: {:.2f}x, every site at its floor\n", plan.model_ceiling);
  text += fmt::format("{} of {} sites are worthwhile: autokernel extract --top {}\n", worthwhile.size(),
                      plan.sites.size(), worthwhile.size());
  return text;
}

void note_gaps(Session& session, const plan::Trace& trace, const plan::Plan& plan, bool on_cpu) {
  if (on_cpu)
    session.log().info(
        "the trace has no device kernels: these are CPU times (for a GPU record with "
        "ProfilerActivity.CUDA)");
  if (!trace.has_values)
    session.log().warning(
        "the trace does not tell the ops' numbers (PyTorch before 2.1?): ops that depend on them are "
        "left to `no family`");
  for (const plan::PlanSite& site : plan.sites) {
    if (!site.assumed.empty())
      session.log().info("{}: {} is not in the trace: the default is assumed", site.id,
                         fmt::join(site.assumed, ", "));
  }
}

}  // namespace

Result<plan::Plan> plan_of_trace(Session& session, const std::string& file) {
  AK_TRY(registry, session.registry());
  AK_TRY(record, plan::read_profile_record(file));
  AK_TRY(trace, plan::read_trace(record ? record->trace.string() : file));
  if (!trace.has_shapes) {
    return usage_error(
        "{}: the trace has no shapes, without which no op can be told from another: record it with\n"
        "  with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], "
        "record_shapes=True) "
        "as prof: model(x)\n  prof.export_chrome_trace(\"trace.json.gz\")",
        file);
  }
  AK_TRY(traits, plan::embedded_op_traits());
  const plan::CallTree tree = plan::CallTree::build(trace);
  const plan::ModelGraph* graph = record && record->graph ? &*record->graph : nullptr;
  if (graph != nullptr) plan::fill_values(trace, tree, *graph, *registry);
  const plan::MatchedTrace matched = plan::match_trace(trace, tree, *registry, traits, graph);
  std::optional<roofline::Peaks> peaks;
  if (!tree.on_cpu() && trace.device) {
    AK_TRY(table, roofline::GpuTable::embedded());
    DeviceInfo device;
    device.name = trace.device->name;
    std::optional<roofline::Peaks> found = table.peaks_of(device);
    if (!found)
      session.log().warning(
          "the figures of `{}` are not known (data/gpus.toml): no floors, and sites are ranked by "
          "their shares",
          trace.device->name);
    peaks = std::move(found);
  }
  AK_TRY(made, plan::make_plan(trace, tree, matched, peaks));
  note_gaps(session, trace, made, tree.on_cpu());
  return made;
}

Result<plan::Plan> stored_plan(Session& session, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "plan.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    return usage_error("{}: there is no plan yet: make one with autokernel plan TRACE", file.string());
  AK_TRY(registry, session.registry());
  AK_TRY(text, read_file(file, kMaxPlanBytes));
  const Result<Json> json = parse_json(text, file.string());
  Result<plan::Plan> plan = json ? plan::plan_from_json(*json, file.string(), *registry)
                                 : Result<plan::Plan>(tl::unexpected(json.error()));
  if (plan) return plan;
  return usage_error("{}\nmake the plan anew: autokernel plan TRACE", plan.error().message);
}

bool is_of_site(const std::string& target, const plan::PlanSite& site) {
  return target == site.id || target == fmt::format("{}{}", site.id, kRehearsal);
}

Status store_plan(Session& session, const ledger::Workspace& workspace, const plan::Plan& plan) {
  const auto knows = [](const plan::Plan& some, const std::string& target) {
    return std::any_of(some.sites.begin(), some.sites.end(),
                       [&](const plan::PlanSite& site) { return is_of_site(target, site); });
  };
  if (const Result<plan::Plan> earlier = stored_plan(session, workspace.folder())) {
    AK_TRY(targets, workspace.ledger().target_ids());
    std::erase_if(targets, [&](const std::string& id) { return knows(plan, id) || !knows(*earlier, id); });
    if (!targets.empty()) {
      session.log().info(
          "targets of the plan before that this one does not have: {}. They stay with what was measured: "
          "`status` lists them, and planning their trace again goes on with them",
          fmt::join(targets, ", "));
    }
  }
  return write_file_atomic(plan_file(workspace), plan::stored_json(plan).dump(1) + "\n");
}

Result<std::vector<plan::Extraction>> extract_targets(Session& session, ledger::Workspace& workspace,
                                                      const plan::Plan& plan, std::size_t top,
                                                      const DeviceInfo& device) {
  AK_TRY(registry, session.registry());
  const DeviceInfo gpu = device.kind == "cpu" ? DeviceInfo{} : device;
  std::vector<plan::Extraction> extractions;
  for (const plan::PlanSite* site : plan::by_priority(plan)) {
    if (extractions.size() == top) break;
    AK_TRY(extraction, plan::extract(*site, *registry, gpu));
    if (!extraction.kernel_name.empty())
      AK_TRY_VOID(workspace.add_target(extraction.target, extraction.toml, extraction.kernel_text));
    extractions.push_back(std::move(extraction));
  }
  return extractions;
}

Result<std::vector<campaign::OptimizeTarget>> measurable_targets(Session& session,
                                                                 const ledger::Workspace& workspace,
                                                                 const plan::Plan& plan, std::size_t top,
                                                                 const DeviceInfo& device,
                                                                 std::vector<std::string>& why_not) {
  std::vector<campaign::OptimizeTarget> targets;
  for (const plan::PlanSite* site : plan::by_priority(plan)) {
    if (top-- == 0) break;
    const std::filesystem::path kernel = workspace.target_folder(site->id) / "kernel.cu";
    std::error_code ignored;
    if (!std::filesystem::exists(kernel, ignored)) {
      why_not.push_back(fmt::format(
          "{}: no kernel.cu: not extracted yet (autokernel extract --top N), or no kernel of {} covers {}",
          site->id, site->problem.op, site->problem.label()));
      continue;
    }
    Result<LoadedKernel> loaded = load_kernel(session, kernel.string(), {}, device, Purpose::kRead);
    if (!loaded) {
      why_not.push_back(fmt::format("{}: {}", site->id, loaded.error().message));
      continue;
    }
    campaign::OptimizeTarget target;
    const Result<std::string> now = workspace.kernel_text(loaded->target.id);  // of a rehearsal, its own
    target.entry = {.id = loaded->target.id,
                    .site = site->id,
                    .label = site->problem.label(),
                    .model_us = site->time_us,
                    .model_floor_us = site->floor_us.value_or(0),
                    .kernel_hash = content_hash(now ? *now : loaded->file.text),
                    .model_share = site->share,
                    .calls = site->calls,
                    .reduced = loaded->target.id.ends_with(kRehearsal)
                                   ? loaded->target.problems.front().problem.label()
                                   : ""};
    target.target = std::move(loaded->target);
    target.kernel_name = loaded->file.name;
    target.kernel_text = loaded->file.text;
    targets.push_back(std::move(target));
  }
  return targets;
}

void print_plan(Session& session, const plan::Plan& plan, std::size_t top) {
  if (session.options().json) {
    session.print_json(plan::to_json(plan));
  } else {
    session.print(plan_text(plan, top));
  }
}

Result<int> run_plan(Session& session, const PlanOptions& options) {
  if (options.file.empty()) {
    AK_TRY(stored, stored_plan(session, session.workspace_folder()));
    print_plan(session, stored, options.top);
    return 0;
  }
  AK_TRY(planned, plan_of_trace(session, options.file));
  AK_TRY(workspace, session.open_workspace());
  AK_TRY_VOID(store_plan(session, workspace, planned));
  print_plan(session, planned, options.top);
  return 0;
}

/// The device that the targets will be measured on; any GPU where that is this machine's CPU.
Result<DeviceInfo> measuring_device(Session& session) {
  AK_TRY(kind, session.device_kind());
  if (kind == "cpu" && session.options().worker.empty()) return DeviceInfo{};
  AK_TRY(pool, session.start_pool());
  return pool->hello().device;
}

Result<int> run_extract(Session& session, const ExtractOptions& options) {
  AK_TRY(workspace, session.open_workspace());
  AK_TRY(planned, stored_plan(session, workspace.folder()));
  AK_TRY(device, measuring_device(session));
  AK_TRY(extractions, extract_targets(session, workspace, planned, options.top, device));
  Json targets = Json::array();
  std::string text;
  for (const plan::Extraction& extraction : extractions) {
    const std::string& id = extraction.target.id;
    const std::filesystem::path folder = workspace.target_folder(id);
    const bool covered = !extraction.kernel_name.empty();
    text += covered ? fmt::format("{}  {}  from {}\n", (folder / "kernel.cu").string(),
                                  extraction.target.problems.front().problem.label(), extraction.kernel_name)
                    : fmt::format("{}: not extracted\n", id);
    for (const std::string& note : extraction.notes) text += fmt::format("  {}\n", note);
    targets.push_back({{"id", id},
                       {"folder", covered ? Json(folder.string()) : Json()},
                       {"kernel", covered ? Json(extraction.kernel_name) : Json()},
                       {"notes", extraction.notes}});
  }
  if (targets.empty()) text = "no worthwhile candidate: nothing to extract\n";
  if (session.options().json) {
    session.print_json({{"schema", 1}, {"targets", std::move(targets)}});
  } else {
    session.print(text);
  }
  return 0;
}

}  // namespace ak::cli
