// The model's report from a plan and a ledger that were written by hand, as after a campaign on a GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autokernel/base/clock.h"
#include "autokernel/base/file.h"
#include "autokernel/campaign/torch_times.h"
#include "autokernel/cli/standing.h"

namespace ak::cli {
namespace {

using ::testing::HasSubstr;

class ModelReportTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("ak-model-report");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDir>(std::move(*folder));
    auto ledger = ledger::Ledger::open(folder_->path() / "ledger.db", ledger::Access::kReadWrite, clock_);
    ASSERT_TRUE(ledger) << ledger.error().message;
    ledger_.emplace(std::move(*ledger));
    ASSERT_TRUE(ledger_->put_kernel("hash", "text"));
    device_.kind = "cuda";
    device_.name = "NVIDIA H200";
    device_.uuid = "GPU-1";
    plan_.device = "NVIDIA H200";
    plan_.total_us = 1000;
    // 8 calls of 40 us.
    plan_.sites.push_back({.id = "norm", .problem = problem(), .calls = 8, .time_us = 320, .share = 0.32});
    Target target{.id = "norm", .op = "rmsnorm", .problems = {}};
    target.problems.push_back({.id = "p0", .problem = problem(), .calls = 8, .sites = {"norm"}});
    ASSERT_TRUE(ledger_->put_target(target, "toml"));
  }
  static Problem problem() {
    Problem problem;
    problem.op = "rmsnorm";
    problem.dims = {{"M", 4}, {"N", 8}};
    return problem;
  }
  /// A search that was interrupted.
  void begin_search() {
    Experiment experiment{.target = "norm", .tag = kCampaignTag, .kernel_hash = "hash"};
    experiment.proposer = "tune:random";
    ASSERT_TRUE(ledger_->begin_experiment(experiment, {.device = device_, .compiler = "", .version = ""}));
  }
  /// An experiment whose full verdict has this time of a call.
  void add(Decision decision, double call_us, double ratio = 1) {
    Experiment experiment{.target = "norm", .tag = kCampaignTag, .kernel_hash = "hash"};
    experiment.proposer = decision == Decision::kStart ? std::string(kStartProposer) : "tune:random";
    auto id = ledger_->begin_experiment(experiment, {.device = device_, .compiler = "", .version = ""});
    ASSERT_TRUE(id) << id.error().message;
    Verdict verdict;
    verdict.passed = true;
    Timing timing;
    timing.problem_id = "p0";
    timing.time = {call_us, call_us, call_us};
    verdict.timings = {timing};
    ASSERT_TRUE(ledger_->attach_verdict(*id, verdict));
    experiment.id = *id;
    experiment.decision = decision;
    experiment.objective_us = 8 * call_us;
    experiment.best_config = Config{};
    if (ratio != 1) experiment.confirmation = Comparison{ratio, ratio, ratio, {}};
    ASSERT_TRUE(ledger_->finish_experiment(experiment));
  }
  void add_torch(std::map<std::string, double> times) {
    torch::Baseline baseline;
    baseline.times_us = std::move(times);
    ASSERT_TRUE(campaign::store_torch_times(*ledger_, "norm", "GPU-1", {{"p0", baseline}}));
  }
  report::ModelReport made() {
    auto queue =
        campaign::Queue::load(*ledger_, {{"norm", "norm", "norm", 320, 0}}, {}, device_.uuid, kCampaignTag);
    EXPECT_TRUE(queue) << queue.error().message;
    auto model = model_report(*ledger_, plan_, queue->targets(), device_);
    EXPECT_TRUE(model) << model.error().message;
    return *model;
  }

  SystemClock clock_;
  std::unique_ptr<TempDir> folder_;
  std::optional<ledger::Ledger> ledger_;
  DeviceInfo device_;
  plan::Plan plan_;
};

TEST_F(ModelReportTest, ProjectsFromTheKeptKernelAndPyTorchInTheHarness) {
  add(Decision::kStart, 22);
  add(Decision::kKept, 11, 2);
  add_torch({{"eager", 44}, {"fused", 12}});
  const report::ModelReport model = made();
  ASSERT_TRUE(model.projected) << model.no_projection;
  const report::SiteRow& row = model.sites.at(0);
  EXPECT_DOUBLE_EQ(row.start_us.value_or(0), 22);
  EXPECT_DOUBLE_EQ(row.best_us.value_or(0), 11);
  EXPECT_EQ(row.path, "eager");
  EXPECT_DOUBLE_EQ(model.after_us, 1000 - 320 + 80);
  EXPECT_EQ(row.verdict, "kept");
}

TEST_F(ModelReportTest, AFasterKernelThanOursIsNotOneThanTheModels) {
  add(Decision::kStart, 200);
  add(Decision::kKept, 100, 2);  // twice our start, and slower than PyTorch
  add_torch({{"eager", 40}});
  const report::ModelReport model = made();
  ASSERT_TRUE(model.projected);
  EXPECT_EQ(model.sites.at(0).answer, "slower");
  EXPECT_DOUBLE_EQ(model.after_us, 1000);
}

TEST_F(ModelReportTest, AnInterruptedSearchDoesNotReadAsOneThatFoundNothing) {
  EXPECT_EQ(made().sites.at(0).verdict, "not begun");
  add(Decision::kStart, 22);
  EXPECT_EQ(made().sites.at(0).verdict, "only the starter was measured");
  begin_search();
  EXPECT_EQ(
      made().sites.at(0).verdict,
      "only the starter was measured; a search was interrupted after 0 trials, the same command goes on");
}

TEST(TargetJson, SharesAreOfTheModelAndARehearsalMovesNone) {
  campaign::QueuedTarget target;
  target.entry = {
      .id = "norm", .site = "norm", .label = "norm", .model_us = 300, .model_share = 0.3, .calls = 8};
  target.share = 0.2;
  const DeviceInfo gpu{.kind = "cuda"}, cpu{.kind = "cpu"};
  EXPECT_EQ(target_json(target, gpu)["share"], 0.3);
  EXPECT_EQ(target_json(target, gpu)["share_now"], 0.2);
  EXPECT_EQ(target_json(target, cpu)["share"], 0.3);
  EXPECT_TRUE(target_json(target, cpu)["share_now"].is_null());
  EXPECT_EQ(target_json(target, gpu)["calls"].dump(), "8");
  EXPECT_TRUE(target_json(target, gpu)["reduced_problem"].is_null());
  target.entry.model_share = 0;  // of no plan
  EXPECT_TRUE(target_json(target, gpu)["share"].is_null());
}

TEST_F(ModelReportTest, WithoutPyTorchsTimesNothingIsProjected) {
  add(Decision::kStart, 22);
  const report::ModelReport model = made();
  EXPECT_FALSE(model.projected);
  EXPECT_THAT(model.no_projection, HasSubstr("PyTorch's own times"));
}

TEST_F(ModelReportTest, TimesOfAnotherGpuAreNotOfThisOne) {
  add(Decision::kStart, 11);
  add_torch({{"eager", 44}});
  device_.uuid = "GPU-2";
  const report::ModelReport model = made();
  EXPECT_FALSE(model.projected);
  EXPECT_FALSE(model.sites.at(0).best_us);
}

}  // namespace
}  // namespace ak::cli
