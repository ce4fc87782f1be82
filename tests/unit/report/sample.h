#pragma once
// A recorded tune run for the tests: a start, a search with failures of several kinds, a kept winner.

#include "../ledger/fixtures.h"
#include "autokernel/base/random.h"
#include "autokernel/ledger/workspace.h"
#include "autokernel/report/report.h"

namespace ak::report {

inline constexpr const char* kHostileMessage =
    "kernel.cu:7: error: '<script>alert(1)</script>' | \"x\" & `y`\n```\n# heading\n\x1b[31mred\xff";

class SampleFixture : public ledger::LedgerFixture {
 protected:
  std::filesystem::path folder() const { return folder_->path() / "ws"; }
  ledger::Workspace open_workspace() {
    auto workspace = ledger::Workspace::open(folder(), clock_);
    if (!workspace) ADD_FAILURE() << workspace.error().message;
    EXPECT_TRUE(workspace->add_target(ledger::small_target(), "schema = 1\n", "v0"));
    return std::move(*workspace);
  }

  Experiment begin(ledger::Workspace& workspace, const std::string& proposer,
                   const std::string& description) {
    Experiment e = ledger::experiment_on("rmsnorm", "v0");
    e.proposer = proposer;
    e.description = description;
    auto begun = workspace.begin(e, "v0", ledger::cpu_context());
    if (!begun) ADD_FAILURE() << begun.error().message;
    return *begun;
  }
  void add(ledger::Workspace& workspace, const Trial& trial) {
    const auto id = workspace.ledger().append_trial(trial, ledger::verdict_for(trial));
    ASSERT_TRUE(id) << id.error().message;
  }
  void finish(ledger::Workspace& workspace, Experiment e, Decision decision, double objective_us) {
    e.decision = decision;
    e.objective_us = objective_us;
    const auto finished = workspace.finish(e, "v0");
    ASSERT_TRUE(finished) << finished.error().message;
  }

  void record_start(ledger::Workspace& workspace, double us) {
    Experiment start = begin(workspace, "start", "the [defaults] as first measured");
    add(workspace, ledger::passed_trial(start.id, 256, us));
    start.best_config = ledger::config_of(256);
    finish(workspace, start, Decision::kStart, us);
  }

  /// A search in which each time is given as the paired ratio to the start; 0 is a failure.
  Experiment record_search(ledger::Workspace& workspace, const std::vector<double>& ratios, double start_us) {
    Experiment tune = begin(workspace, "tune:annealing", "annealing over 128 configs, seed 7");
    int threads = 8;
    for (double ratio : ratios) {
      threads += 8;
      if (ratio == 0) {
        const FailureKind kind = threads % 3 == 0 ? FailureKind::kInvalidConfig : FailureKind::kCompile;
        const auto id = workspace.ledger().append_failed_trial(
            ledger::failed_trial(tune.id, threads, kind, kHostileMessage));
        EXPECT_TRUE(id);
        continue;
      }
      Trial trial = ledger::passed_trial(tune.id, threads, start_us / ratio * 1.01);
      trial.versus =
          Comparison{.ratio = ratio, .ci_low = ratio * 0.98, .ci_high = ratio * 1.02, .incumbent = {}};
      add(workspace, trial);
    }
    return tune;
  }

  /// 1: start, 2: a kept tune run.
  void record_sample(ledger::Workspace& workspace) {
    record_start(workspace, 20);
    Experiment tune = record_search(workspace, {0.8, 0, 1.1, 0.9, 1.6, 0, 1.3, 2.0, 1.9, 0}, 20);
    tune.best_config = ledger::config_of(72);
    tune.confirmation =
        Comparison{.ratio = 1.95, .ci_low = 1.9, .ci_high = 2.01, .incumbent = {20.1, 19.8, 20.4}};
    finish(workspace, tune, Decision::kKept, 10.2);
  }
};

}  // namespace ak::report
