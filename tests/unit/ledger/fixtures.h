#pragma once
// Small experiments for the tests of ledger and report.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "autokernel/base/clock.h"
#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/ledger/ledger.h"

namespace ak::ledger {

inline Target small_target(const std::string& id = "rmsnorm") {
  Target target{.id = id, .op = "rmsnorm", .problems = {}};
  Problem problem;
  problem.op = "rmsnorm";
  problem.dims = {{"M", 32}, {"N", 128}};
  problem.scalars = {{"eps", 1e-6}};
  problem.has = {"weight"};
  target.problems.push_back(
      {.id = "p0", .problem = problem, .calls = 1, .sites = {}, .role = Role::kPrimary});
  return target;
}

inline RunContext cpu_context() {
  RunContext context;
  context.device.kind = "cpu";
  context.device.name = "Test CPU, 2 threads";
  context.device.uuid = "cpu-1";
  context.device.arch = "cpu";
  context.compiler = "g++ 12.2.0";
  context.version = "0.1.0";
  return context;
}

inline Config config_of(int threads) { return {.values = {{"THREADS", std::int64_t{threads}}}}; }

inline Experiment experiment_on(const std::string& target, const std::string& kernel,
                                const std::string& tag = "tune") {
  Experiment e;
  e.target = target;
  e.tag = tag;
  e.proposer = "tune:annealing";
  e.description = "tune by annealing";
  e.kernel_hash = content_hash(kernel);
  e.seed = 7;
  return e;
}

inline Trial passed_trial(std::int64_t experiment, int threads, double median_us,
                          const std::string& problem = "p0") {
  Trial t;
  t.experiment = experiment;
  t.problem_id = problem;
  t.config = config_of(threads);
  t.passed = true;
  t.time = TimeEstimate{median_us, median_us * 0.98, median_us * 1.03};
  t.gbps = 4;
  t.tflops = 0.002;
  t.peak_memory_bytes = 2.5e6;
  return t;
}

inline Trial failed_trial(std::int64_t experiment, int threads, FailureKind kind, std::string message) {
  Trial t;
  t.experiment = experiment;
  t.problem_id = "p0";
  t.config = config_of(threads);
  t.failure =
      Failure{.stage = Stage::kCompile, .kind = kind, .check = "compile", .message = std::move(message)};
  return t;
}

inline Verdict verdict_for(const Trial& trial) {
  Verdict v;
  v.passed = trial.passed;
  v.failure = trial.failure;
  v.device = cpu_context().device;
  v.worst_error = 0.25;
  if (trial.time) {
    Timing timing;
    timing.problem_id = trial.problem_id;
    timing.time = *trial.time;
    timing.peak_gbps = 8;
    timing.peak_tflops = 0.1;
    timing.floor_us = 5.0;
    v.timings.push_back(timing);
  }
  return v;
}

/// A ledger in a folder of its own, at 2026-01-02T03:04:05Z.
class LedgerFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("ak-ledger-test");
    ASSERT_TRUE(folder) << folder.error().message;
    folder_.emplace(std::move(*folder));
    clock_.advance(std::chrono::sys_days(std::chrono::year(2026) / 1 / 2).time_since_epoch() +
                   std::chrono::hours(3) + std::chrono::minutes(4) + std::chrono::seconds(5));
  }

  std::filesystem::path file() const { return folder_->path() / "ledger.db"; }
  Ledger open(Access access = Access::kReadWrite) {
    auto ledger = Ledger::open(file(), access, clock_);
    if (!ledger) ADD_FAILURE() << ledger.error().message;
    return std::move(*ledger);
  }
  /// A ledger with the small target and a running experiment, number 1.
  Ledger open_with_experiment() {
    Ledger ledger = open();
    EXPECT_TRUE(ledger.put_target(small_target(), "schema = 1\n"));
    EXPECT_TRUE(ledger.put_kernel(content_hash("v1"), "v1"));
    auto id = ledger.begin_experiment(experiment_on("rmsnorm", "v1"), cpu_context());
    EXPECT_TRUE(id) << id.error().message;
    return ledger;
  }

  FakeClock clock_;
  std::optional<TempDir> folder_;
};

}  // namespace ak::ledger
