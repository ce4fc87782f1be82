// What the ledger and the workspace cost: appending a trial, finishing an experiment, opening, reading back.
//
//   ledger_bench [trials]
//
// Prints medians and 99th percentiles in milliseconds. Goals: a trial <= 1 ms; an experiment, commit
// included, well below the time of one measurement.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/ledger/workspace.h"

namespace {

using ak::ledger::Workspace;

/// Milliseconds that each call of `body` takes.
template <class Body>
std::vector<double> times_of(int count, Body&& body) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    body(i);
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return times;
}

void print(const char* what, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  fmt::print("{:<44} {:>6} times   median {:8.3f} ms   99 % {:8.3f} ms\n", what, times.size(),
             times[times.size() / 2], times[times.size() * 99 / 100]);
}

template <class T>
T must(ak::Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "ledger_bench: {}\n", result.error().message);
  std::exit(1);
}
void must(const ak::Status& status) {
  if (status) return;
  fmt::print(stderr, "ledger_bench: {}\n", status.error().message);
  std::exit(1);
}

ak::Trial trial_of(std::int64_t experiment, int i) {
  ak::Trial trial;
  trial.experiment = experiment;
  trial.problem_id = "p0";
  trial.config.values = {{"THREADS", std::int64_t{64 + i}}, {"VEC", std::int64_t{4}}, {"UNROLL", true}};
  trial.passed = true;
  trial.time = ak::TimeEstimate{10.0 + i % 7, 9.8, 10.4};
  return trial;
}

ak::Verdict verdict_of(const ak::Trial& trial) {
  ak::Verdict verdict;
  verdict.passed = true;
  ak::Timing timing;
  timing.problem_id = trial.problem_id;
  timing.time = *trial.time;
  timing.rounds_us.assign(30, 10.0);
  verdict.timings.push_back(timing);
  return verdict;
}

}  // namespace

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 5000;
  ak::SystemClock clock;
  const auto folder = must(ak::TempDir::create("ak-ledger-bench"));
  auto workspace = must(Workspace::open(folder.path(), clock));
  ak::Target target;
  target.id = target.op = "rmsnorm";
  must(workspace.add_target(target, "schema = 1\n", "v0"));
  ak::Experiment experiment;
  experiment.target = "rmsnorm";
  experiment.tag = "bench";
  experiment.proposer = "tune:random";
  auto begun = must(workspace.begin(experiment, "v0", {}));
  print("append a trial", times_of(trials, [&](int i) {
          const ak::Trial trial = trial_of(begun.id, i);
          must(workspace.ledger().append_trial(trial, verdict_of(trial)));
        }));
  print("read all trials back", times_of(5, [&](int) { must(workspace.ledger().trials(begun.id)); }));
  begun.decision = ak::Decision::kStart;
  must(workspace.finish(begun, "v0"));
  print("begin and finish an experiment", times_of(40, [&](int i) {
          const std::string kernel = fmt::format("// version {}\n", i);
          auto e = must(workspace.begin(experiment, kernel, {}));
          e.decision = i % 4 == 0 ? ak::Decision::kKept : ak::Decision::kReverted;
          must(workspace.finish(e, kernel));
        }));
  print("write results.tsv", times_of(20, [&](int) { must(workspace.write_results()); }));
  print("append a trial after that",
        times_of(200, [&, last = must(workspace.begin(experiment, "v0", {}))](int i) {
          const ak::Trial trial = trial_of(last.id, i);
          must(workspace.ledger().append_trial(trial, verdict_of(trial)));
        }));
  {
    const Workspace closed = std::move(workspace);
  }
  print("open the workspace", times_of(5, [&](int) { must(Workspace::open(folder.path(), clock)); }));
  return 0;
}
