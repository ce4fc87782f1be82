#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/progress.h"
#include "autokernel/base/text_table.h"
#include "autokernel/campaign/tune.h"
#include "autokernel/cli/code_explanation.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/standing.h"
#include "autokernel/cli/verdict_text.h"
#include "autokernel/kernel/space.h"
#include "autokernel/op/target_file.h"
#include "autokernel/report/report.h"
#include "autokernel/search/strategy.h"

namespace ak::cli {
namespace {

std::string tune_text(const campaign::TuneResult& result, const std::string& file, const Target& target) {
  std::string out =
      fmt::format("kernel: {}\ndevice: {} ({}{})\nexperiment: {}\ndecision: {}\n", file, result.device.name,
                  result.device.kind, result.device.kind == "cpu" ? ": CPU timings, caches warm" : "",
                  result.experiment, name(result.decision));
  if (result.start_failure) {
    return out +
           fmt::format(
               "failure_kind: {}\nfailure_check: {}\nfailure: the [defaults] do not pass: {}\nsee: {}\n",
               name(result.start_failure->kind), result.start_failure->check, result.start_failure->message,
               where_explained(*result.start_failure));
  }
  out += fmt::format("trials: {} of {} valid configs ({} raw)\n", result.trials, result.space_size,
                     result.raw_size);
  for (const auto& [kind, count] : result.failed) out += fmt::format("failed_{}: {}\n", kind, count);
  out += fmt::format("stopped: {}\n", result.stop_reason);
  const std::string scope = objective_scope(target);
  out +=
      fmt::format("start: {}  {}  (experiment {}{}{})\n", format_us(result.start_time.median_us),
                  result.start_config.to_string(), result.start_experiment, scope.empty() ? "" : ", ", scope);
  if (result.contender && result.decision != Decision::kKept) {
    out += fmt::format("contender: {}  (not kept: the start stays)\n", result.contender->to_string());
  } else {
    out +=
        fmt::format("best: {}  {}\n", format_us(result.best_time.median_us), result.best_config.to_string());
  }
  if (result.confirmation) {
    out += fmt::format(
        "speedup: {:.3f}x (95 % CI {:.3f} to {:.3f}; confirmed in a fresh worker, paired with the start)\n",
        result.confirmation->ratio, result.confirmation->ci_low, result.confirmation->ci_high);
  }
  if (result.problems.size() > 1) {
    TextTable table({"problem", "best config of its own", "time of a call"});
    for (const campaign::ProblemWinner& winner : result.problems) {
      table.add_row({winner.problem.label(), winner.config.to_string(), format_us(winner.time.median_us)});
    }
    out += "\n" + table.plain();
  }
  return out;
}

void print_pruned(Session& session, const kernel::Space& space) {
  session.log().info("{} valid configs of {}", space.size(), space.raw_size());
  for (const kernel::Space::Pruned& each : space.pruned()) {
    session.log().info("  {} removed by {}: {}", each.count, each.cause, each.example);
  }
}

Result<campaign::TuneRequest> make_request(const TuneOptions& options, const LoadedKernel& loaded,
                                           const ledger::Settings& settings) {
  campaign::TuneRequest request;
  request.tag = options.tag;
  request.target = loaded.target;
  request.target_toml = op::format_target(loaded.target);
  request.kernel_name = loaded.file.name;
  request.kernel_text = loaded.file.text;
  request.strategy = settings.get_text("strategy");
  request.budget = settings.get_budget("budget");
  request.seed = static_cast<std::uint64_t>(settings.get_count("seed"));
  request.threshold = settings.get_number("threshold");
  request.resume =
      options.fresh ? campaign::TuneRequest::Resume::kFresh : campaign::TuneRequest::Resume::kContinue;
  return request;
}

Result<int> dry_run(Session& session, const LoadedKernel& loaded, const DeviceInfo& device) {
  std::vector<Problem> problems;
  for (const TargetProblem& each : loaded.target.problems) problems.push_back(each.problem);
  AK_TRY(space, kernel::Space::create(loaded.file, device, problems));
  print_pruned(session, space);
  std::string out;
  Json configs = Json::array();
  for (std::size_t index : space.heuristic_order(loaded.file, device, problems.front())) {
    out += space.config(index).to_string() + "\n";
    configs.push_back(to_json(space.config(index)));
  }
  if (session.options().json) {
    session.print_json(
        {{"schema", 1}, {"valid", space.size()}, {"raw", space.raw_size()}, {"configs", std::move(configs)}});
  } else {
    session.print(out);
  }
  return 0;
}

}  // namespace

Result<int> run_tune(Session& session, const TuneOptions& options) {
  AK_TRY(settings, session.settings(options.settings));
  AK_TRY(pool, session.start_pool());
  const DeviceInfo& device = pool->hello().device;
  AK_TRY(loaded, load_kernel(session, options.file, options.target, device));
  if (options.dry_run) return dry_run(session, loaded, device);
  AK_TRY_VOID(
      search::check_strategy(settings.get_text("strategy")));  // a misspelt one must leave no workspace
  AK_TRY(workspace, session.open_workspace());
  AK_TRY(registry, session.registry());
  AK_TRY(request, make_request(options, loaded, settings));
  AK_TRY(baselines, session.baselines(device));
  campaign::Tuner tuner({workspace, *pool, *registry, session.clock(), session.log(), kVersion,
                         !session.options().unsafe_no_sandbox, baselines ? &*baselines : nullptr},
                        session.stop());
  Progress progress("tune", request.budget.trials, session.clock(),
                    session.options().quiet ? Progress::Style::kNone : Progress::Style::kAuto);
  AK_TRY(result, tuner.run(request, [&](const campaign::TuneProgress& now) {
    progress.update(now.done,
                    now.best_us > 0 && now.best_us < 1e300
                        ? fmt::format("best {} (start {})", format_us(now.best_us), format_us(now.start_us))
                        : std::string("nothing works yet"));
  }));
  progress.finish();
  if (result.interrupted) {
    return tl::unexpected(
        Error{ErrorCode::kInterrupted,
              fmt::format("interrupted after {} configs; the same command{} goes on from there",
                          result.trials, options.fresh ? " without --fresh" : "")});
  }
  if (options.write && result.decision == Decision::kKept) {
    AK_TRY(text, kernel::with_defaults(loaded.file, result.best_config));
    AK_TRY_VOID(write_file_atomic(options.file, text));
  }
  AK_TRY(reports, report::write_reports(workspace, report_options(session, workspace)));
  Json explained;  // what is kept on a GPU is explained
  if (result.decision == Decision::kKept && device.kind == "cuda") {
    AK_TRY(family, registry->find(loaded.target.op));
    AK_TRY(code, explain_code(session, loaded.file, result.best_config, *family,
                              loaded.target.problems.front().problem, device));
    explained = Json::array({std::move(code)});
  }
  if (session.options().json) {
    Json json = campaign::to_json(result);
    json["repaired"] = workspace.repairs().actions;
    if (!explained.is_null()) json["explain"] = std::move(explained);
    session.print_json(json);
  } else {
    session.print(tune_text(result, loaded.file.name, loaded.target));
    if (!result.start_failure) session.print(fmt::format("tuned_kernel: {}\n", result.kernel_path));
    if (!explained.is_null()) session.print(explain_text(explained));
    session.print(fmt::format("report: {}\n", reports.html.string()));
  }
  return result.start_failure ? 1 : 0;
}

}  // namespace ak::cli
