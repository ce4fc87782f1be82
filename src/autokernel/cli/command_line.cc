#include "autokernel/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>

#include "autokernel/cli/commands.h"
#include "autokernel/cli/model_profile.h"
#include "autokernel/device/cpu/jail_main.h"
#include "autokernel/device/cuda/nvrtc_child.h"

namespace ak::cli {
namespace {

using Run = std::function<Result<int>(Session&)>;

/// Collects what the chosen subcommand is to do; the options live as long as the parser.
struct Parsed {
  GlobalOptions global;
  BenchOptions bench;
  CompareOptions compare;
  LaunchOptions launch;
  DevicesOptions devices;
  CompileOptions compile;
  TuneOptions tune;
  PlanOptions plan;
  ProfileOptions profile;
  ExtractOptions extract;
  OptimizeOptions optimize;
  CampaignOptions campaign;
  RecordOptions record;
  HistoryOptions history;
  OpsOptions ops;
  std::string ops_folder;
  ExplainOptions explain;
  SelftestOptions selftest;
  WorkerOptions worker;
  bool no_baselines = false;
  std::optional<std::string> strategy, budget, seed, threshold;
  /// Those of the four that were given, by the setting's name.
  std::map<std::string, std::string> search_settings() const {
    std::map<std::string, std::string> given;
    for (const auto& [name, value] : {std::pair("strategy", &strategy), std::pair("budget", &budget),
                                      std::pair("seed", &seed), std::pair("threshold", &threshold)}) {
      if (*value) given[name] = **value;
    }
    return given;
  }
  Run run;
};

void add_global(CLI::App& app, GlobalOptions& global) {
  app.add_flag("--json", global.json, "print one JSON object instead of text");
  app.add_flag("-q,--quiet", global.quiet, "no progress and no notes, only warnings and results");
  app.add_option("--device", global.device, "auto, cpu, cuda, cuda:1, ... (default: the setting `device`)");
  app.add_option("-w,--workspace", global.workspace,
                 "folder of ledger, history and reports (default: ./.autokernel)");
  app.add_option("--ops", global.ops, "a folder of op families of your own; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--worker", global.worker,
                 "command of a worker elsewhere, e.g. --worker 'ssh -T box autokernel worker'");
  app.add_flag("--unsafe-no-sandbox", global.unsafe_no_sandbox,
               "compile without Landlock and seccomp; recorded");
}

void add_target(CLI::App& app, TargetOptions& target) {
  app.add_option("--op", target.op, "op family, where the front matter names none");
  app.add_option("--dims", target.dims, "one problem, e.g. M=4096,N=4096; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--dtype", target.dtypes, "f32, f16, bf16 (default: all that the file declares)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--sizes", target.sizes, "a size set of the family: smoke, sweep, edge, primary, ...");
}

CLI::App& subcommand(CLI::App& app, Parsed& parsed, const char* name, const char* help, Run run) {
  CLI::App& sub = *app.add_subcommand(name, help);
  add_global(sub, parsed.global);
  sub.callback([&parsed, run = std::move(run)] { parsed.run = run; });
  return sub;
}

void add_measuring(CLI::App& app, Parsed& parsed) {
  CLI::App& bench = subcommand(app, parsed, "bench", "check a kernel file in every stage and time it",
                               [&](Session& s) { return run_bench(s, parsed.bench); });
  bench.add_option("FILE", parsed.bench.file, "kernel file")->required();
  add_target(bench, parsed.bench.target);
  bench.add_option("--set", parsed.bench.set, "NAME=VALUE of a tunable; may be repeated")
      ->allow_extra_args(false);
  bench.add_flag("--quick", parsed.bench.quick, "smoke stage only, no timing");
  bench.add_flag("--baseline", parsed.bench.baseline,
                 "time PyTorch too (eager, fused, torch.compile); else only what is known is shown");
  bench.add_option("--seed", parsed.bench.seed, "hexadecimal seed of the inputs, to repeat a failure");

  bench.add_flag("--explain", parsed.bench.explain,
                 "also registers, occupancy, load widths, instruction mix and achieved rates");

  CLI::App& launch =
      subcommand(app, parsed, "launch",
                 "run a kernel in this process with line information, for profilers and debuggers",
                 [&](Session& s) { return run_launch(s, parsed.launch); });
  launch.add_option("FILE", parsed.launch.file, "kernel file")->required();
  add_target(launch, parsed.launch.target);
  launch.add_option("--set", parsed.launch.set, "NAME=VALUE of a tunable; may be repeated")
      ->allow_extra_args(false);
  launch.add_option("--repeat", parsed.launch.repeats, "launches, one after another (default: 1)")
      ->check(CLI::Range(1, 1'000'000));
  launch.add_option("--seed", parsed.launch.seed, "of the inputs (default: 1)");

  CLI::App& compare =
      subcommand(app, parsed, "compare", "time two kernel files against each other in A B B A rounds",
                 [&](Session& s) { return run_compare(s, parsed.compare); });
  compare.add_option("A", parsed.compare.incumbent, "kernel file that is there")->required();
  compare.add_option("B", parsed.compare.candidate, "kernel file that may replace it")->required();
  add_target(compare, parsed.compare.target);
  compare.add_option("--set-a", parsed.compare.set_incumbent, "NAME=VALUE for A")->allow_extra_args(false);
  compare.add_option("--set-b", parsed.compare.set_candidate, "NAME=VALUE for B")->allow_extra_args(false);

  CLI::App& compile = subcommand(app, parsed, "compile", "compile a kernel file; needs no GPU",
                                 [&](Session& s) { return run_compile(s, parsed.compile); });
  compile.add_option("FILE", parsed.compile.file, "kernel file")->required();
  add_target(compile, parsed.compile.target);
  compile.add_option("--set", parsed.compile.set, "NAME=VALUE of a tunable")->allow_extra_args(false);
  compile.add_option("--arch", parsed.compile.arch, "cpu, sm_80, sm_90a, sm_100a, ... (default: cpu)");
  compile.add_option("-o,--output", parsed.compile.output, "write the binary to this file");
  compile.add_flag("--ptx", parsed.compile.ptx, "print the PTX");
  compile
      .add_option("--repeat", parsed.compile.repeat,
                  "compile N times more, none from the cache: what the next candidate's compile takes")
      ->check(CLI::Range(1, 1000));
}

void add_search(CLI::App& command, Parsed& parsed, const char* budget) {
  command.add_option("--strategy", parsed.strategy,
                     "exhaustive, random, local, annealing, genetic, differential-evolution, gradient");
  command.add_option("--budget", parsed.budget, budget);
  command.add_option("--seed", parsed.seed, "of the search; the inputs' seeds are always secret");
  command.add_option("--threshold", parsed.threshold,
                     "a config is kept if it is faster by more than this (0.01: 1 %)");
}

void add_tune(CLI::App& app, Parsed& parsed) {
  CLI::App& tune = subcommand(app, parsed, "tune",
                              "search the tunables of a kernel file for the fastest config", [&](Session& s) {
                                parsed.tune.settings = parsed.search_settings();
                                return run_tune(s, parsed.tune);
                              });
  tune.add_option("FILE", parsed.tune.file, "kernel file")->required();
  add_target(tune, parsed.tune.target);
  add_search(tune, parsed, "100 (configs), 90s, 10m, 2h, or both: 100,10m");
  tune.add_option("--tag", parsed.tune.tag, "name of the history branch autokernel/<tag>");
  tune.add_flag("--fresh", parsed.tune.fresh, "start anew instead of resuming");
  tune.add_flag("--write", parsed.tune.write, "write the winner into the [defaults] of FILE itself");
  tune.add_flag("--dry-run", parsed.tune.dry_run,
                "only list the valid configs, in the order of the first guess");
}

void add_profile(CLI::App& app, Parsed& parsed) {
  CLI::App& profile = subcommand(app, parsed, "profile", "run a PyTorch model under its profiler and plan it",
                                 [&](Session& s) { return run_profile(s, parsed.profile); });
  profile.add_option("MODEL", parsed.profile.model.model.file,
                     "MODEL.py with build(device, dtype), MODEL.py:Class or MODEL.py:function");
  add_model_options(profile, parsed.profile.model, parsed.global);
  profile.add_option("--top", parsed.profile.top, "rows to print (default: 20)")
      ->check(CLI::Range(1, 1000000));
}

void add_planning(CLI::App& app, Parsed& parsed) {
  CLI::App& plan = subcommand(app, parsed, "plan", "rank what is worth optimizing in a torch.profiler trace",
                              [&](Session& s) { return run_plan(s, parsed.plan); });
  plan.add_option("TRACE", parsed.plan.file,
                  "trace, .json or .json.gz, or a profile.json (default: the plan of the workspace)");
  plan.add_option("--top", parsed.plan.top, "rows to print (default: 20)")->check(CLI::Range(1, 1000000));
  CLI::App& extract = subcommand(app, parsed, "extract",
                                 "make targets of the plan's first sites: targets/<id>/ in the workspace",
                                 [&](Session& s) { return run_extract(s, parsed.extract); });
  extract.add_option("--top", parsed.extract.top, "how many sites (default: 5)")
      ->check(CLI::Range(1, 1000000));
}

void add_campaign(CLI::App& app, Parsed& parsed) {
  CLI::App& optimize =
      subcommand(app, parsed, "optimize",
                 "the main job: plan, extract the first sites, tune each in Amdahl order", [&](Session& s) {
                   parsed.optimize.settings = parsed.search_settings();
                   if (parsed.no_baselines) parsed.optimize.settings["baseline"] = "false";
                   return run_optimize(s, parsed.optimize);
                 });
  optimize.add_option("MODEL", parsed.optimize.file,
                      "MODEL.py:NAME as of profile, a trace, a profile.json (default: the workspace's plan)");
  add_model_options(optimize, parsed.optimize.model, parsed.global);
  optimize.add_option("--top", parsed.optimize.top, "how many sites (default: 5)")
      ->check(CLI::Range(1, 1000000));
  add_search(optimize, parsed, "of the whole campaign: 10m (default), 200 (configs), or both: 200,10m");
  optimize.add_flag("--no-baselines", parsed.no_baselines,
                    "do not time PyTorch: nothing is compared with it, no time of the model is projected");
  CLI::App& status =
      subcommand(app, parsed, "status", "the campaign's targets: what was reached, what was left and why",
                 [&](Session& s) { return run_status(s, parsed.campaign); });
  status.add_option("--top", parsed.campaign.top, "how many sites (default: 5)")
      ->check(CLI::Range(1, 1000000));
  CLI::App& next = subcommand(app, parsed, "next", "the target that the campaign would take next",
                              [&](Session& s) { return run_next(s, parsed.campaign); });
  next.add_option("--top", parsed.campaign.top, "how many sites (default: 5)")->check(CLI::Range(1, 1000000));
}

void add_record(CLI::App& app, Parsed& parsed) {
  CLI::App& record =
      subcommand(app, parsed, "record",
                 "measure an edited kernel.cu of the workspace against what there was: keep or revert",
                 [&](Session& s) { return run_record(s, parsed.record); });
  record.add_option("--target", parsed.record.target,
                    "whose kernel.cu was edited (default: the only one that was)");
  record.add_option("--note", parsed.record.note, "why it should be faster, for the history");
}

void add_history(CLI::App& app, Parsed& parsed) {
  CLI::App& log = subcommand(app, parsed, "log", "list the experiments of the workspace",
                             [&](Session& s) { return run_log(s, parsed.history); });
  log.add_option("--target", parsed.history.target, "only of this target");
  log.add_option("--tag", parsed.history.tag, "only of this tag");
  CLI::App& show = subcommand(app, parsed, "show", "one experiment with its trials and its change",
                              [&](Session& s) { return run_show(s, parsed.history); });
  show.add_option("N", parsed.history.experiment, "number of the experiment")->required();
  subcommand(app, parsed, "report", "write reports/ and print the summary", run_report);
}

void add_about(CLI::App& app, Parsed& parsed) {
  CLI::App& ops = subcommand(app, parsed, "ops", "list op families, or describe one", [&](Session& s) {
    return parsed.ops_folder.empty() ? run_ops(s, parsed.ops) : run_ops_check(s);
  });
  ops.add_option("NAME", parsed.ops.name, "family to describe");
  CLI::App& check =
      *ops.add_subcommand("check", "is a family of yours right? its costs, draws, reference and starter");
  add_global(check, parsed.global);
  check.add_option("DIR", parsed.ops_folder, "a family's folder, or a folder of families")->required();
  check.callback([&parsed] { parsed.global.ops.push_back(parsed.ops_folder); });
  CLI::App& explain =
      subcommand(app, parsed, "explain", "what a failure kind or a check means, and what to do",
                 [&](Session& s) { return run_explain(s, parsed.explain); });
  explain.add_option("NAME", parsed.explain.topic, "e.g. race, shape.hidden")->required();
  CLI::App& devices = subcommand(app, parsed, "devices", "list devices with their limits and peaks",
                                 [&](Session& s) { return run_devices(s, parsed.devices); });
  devices.add_flag("--measure", parsed.devices.measure, "measure the peaks of every GPU anew (seconds)");
  CLI::App& doctor = subcommand(app, parsed, "doctor",
                                "what is found and missing on this machine, with the remedy", run_doctor);
  add_python(doctor, parsed.global);
  subcommand(app, parsed, "config", "every setting with its value and where it comes from", run_config);
  CLI::App& selftest = subcommand(app, parsed, "selftest",
                                  "plant cheats and honest kernels and see that the harness tells them apart",
                                  [&](Session& s) { return run_selftest(s, parsed.selftest); });
  selftest.add_flag("--mutate", parsed.selftest.mutate,
                    "prove each cheat's list of checks: with the first off, the next must catch it");
  selftest.add_flag("--suggest", parsed.selftest.suggest,
                    "print, for each cheat, the checks that fire on this device one after another");
  selftest.add_option("--only", parsed.selftest.only, "one cheat or honest kernel, by its name");
}

/// Commands of child processes, which --help does not list.
void add_workers(CLI::App& app, Parsed& parsed) {
  CLI::App& worker = subcommand(app, parsed, "worker", "serve a parent over standard input and output",
                                [&](Session& s) { return run_worker(s, parsed.worker); });
  CLI::App& runner =
      subcommand(app, parsed, "__runner", "", [&](Session& s) { return run_runner(s, parsed.worker); });
  for (CLI::App* sub : {&worker, &runner}) {
    sub->add_flag("--selftest", parsed.worker.selftest);
    sub->add_option("--without", parsed.worker.without)->allow_extra_args(false);
    sub->add_option("--clock-skew", parsed.worker.clock_skew);
    sub->group("");
  }
}

/// A misspelt device is refused by every command, also by those that measure nothing.
Result<int> run_checked(const Parsed& parsed, Session& session) {
  for (const auto& [option, text] : {std::pair("--device", &parsed.global.device),
                                     std::pair("--torch-device", &parsed.profile.model.torch_device),
                                     std::pair("--torch-device", &parsed.optimize.model.torch_device)}) {
    if (text->empty()) continue;
    Result<DeviceName> device = parse_device_name(*text);
    if (!device) return tl::unexpected(std::move(device).error().with_context(option));
  }
  return parsed.run(session);
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return 2;
    case ErrorCode::kEnvironment:
      return 3;
    case ErrorCode::kInternal:
      return 4;
    case ErrorCode::kInterrupted:
      return 130;
  }
  return 4;
}

int unknown_command(const CLI::App& app, std::string_view word) {
  constexpr std::string_view kPlanned[] = {"run",    "revert", "prompt", "init",
                                           "verify", "ship",   "replay", "mcp"};
  bool planned = std::find(std::begin(kPlanned), std::end(kPlanned), word) != std::end(kPlanned);
  std::string known;
  for (const CLI::App* sub :
       app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", sub->get_name());
  }
  std::fprintf(stderr, "autokernel: %s `%.*s`; there are %s\n", planned ? "not supported yet:" : "no command",
               static_cast<int>(word.size()), word.data(), known.c_str());
  return 2;
}

}  // namespace

int run_command_line(int argc, char** argv, Interruption& interruption) {
  // Children of a device or compiler: no option parsing, no session.
  std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "__jail") return cpu::jail_main();
  if (first == "__nvrtc") return cuda::nvrtc_child_main();

  CLI::App app("AutoKernel: GPU kernels made fast without a person in the loop", "autokernel");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  Parsed parsed;
  add_measuring(app, parsed);
  add_tune(app, parsed);
  add_profile(app, parsed);
  add_planning(app, parsed);
  add_campaign(app, parsed);
  add_record(app, parsed);
  add_history(app, parsed);
  add_about(app, parsed);
  add_workers(app, parsed);
  bool names_command =
      !app.get_subcommands([&](const CLI::App* each) { return each->get_name() == first; }).empty();
  if (!first.empty() && first[0] != '-' && !names_command) return unknown_command(app, first);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "autokernel: %s\nRun with --help for the options.\n", error.what());
    return 2;
  }
  Session session(parsed.global, interruption);
  Result<int> code = run_checked(parsed, session);
  if (code) return *code;
  std::fprintf(stderr, "autokernel: %s\n", code.error().message.c_str());
  return exit_code(code.error().code);
}

}  // namespace ak::cli
