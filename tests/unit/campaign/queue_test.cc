// The queue of a campaign from a ledger that was written by hand.

#include "autokernel/campaign/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autokernel/base/clock.h"
#include "autokernel/base/file.h"

namespace ak::campaign {
namespace {

using ::testing::HasSubstr;

class QueueTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("ak-queue");
    ASSERT_TRUE(folder);
    folder_ = std::make_unique<TempDir>(std::move(*folder));
    auto ledger = ledger::Ledger::open(folder_->path() / "ledger.db", ledger::Access::kReadWrite, clock_);
    ASSERT_TRUE(ledger) << ledger.error().message;
    ledger_.emplace(std::move(*ledger));
    ASSERT_TRUE(ledger_->put_kernel("hash", "text"));
  }
  void add_target(const std::string& id, double calls = 1) {
    Target target;
    target.id = id;
    target.op = "rmsnorm";
    TargetProblem problem;
    problem.id = "p0";
    problem.calls = calls;
    problem.problem.op = "rmsnorm";
    problem.problem.dims = {{"M", 4}, {"N", 4}};
    target.problems = {problem};
    ASSERT_TRUE(ledger_->put_target(target, "toml"));
  }
  /// An ended experiment with one trial.
  void add(const std::string& target, Decision decision, double ratio = 1, double floor_us = 0,
           double trial_s = 1, const std::string& device = "here",
           const std::string& proposer = "tune:random") {
    Experiment experiment;
    experiment.target = target;
    experiment.tag = "optimize";
    experiment.proposer = decision == Decision::kStart ? std::string(kStartProposer) : proposer;
    experiment.kernel_hash = "hash";
    ledger::RunContext context;
    context.device.uuid = device;
    auto id = ledger_->begin_experiment(experiment, context);
    ASSERT_TRUE(id) << id.error().message;
    Trial trial;
    trial.experiment = *id;
    trial.problem_id = "p0";
    trial.wall_s = trial_s;
    trial.failure = Failure{Stage::kSmoke, FailureKind::kWrong, "numeric", "off"};
    ASSERT_TRUE(ledger_->append_failed_trial(trial));
    Verdict verdict;
    verdict.passed = true;
    Timing timing;
    timing.problem_id = "p0";
    if (floor_us > 0) timing.floor_us = floor_us;
    verdict.timings = {timing};
    ASSERT_TRUE(ledger_->attach_verdict(*id, verdict));
    if (decision == Decision::kRunning) return;  // interrupted
    experiment.id = *id;
    experiment.decision = decision;
    experiment.objective_us = 100;
    experiment.confirmation = Comparison{ratio, ratio, ratio, {}};
    ASSERT_TRUE(ledger_->finish_experiment(experiment));
  }
  Queue load(const std::vector<QueueEntry>& entries, const MoveOnRules& rules = {}) {
    auto queue = Queue::load(*ledger_, entries, rules, "here", "optimize");
    EXPECT_TRUE(queue) << queue.error().message;
    return std::move(*queue);
  }

  SystemClock clock_;
  std::unique_ptr<TempDir> folder_;
  std::optional<ledger::Ledger> ledger_;
};

const std::vector<QueueEntry> kTwo = {{"a", "a", "A", 60, 10}, {"b", "b", "B", 40, 5}};

TEST_F(QueueTest, TheLargestGainComesFirst) {
  add_target("a");
  add_target("b");
  const Queue queue = load(kTwo);
  ASSERT_NE(queue.next(), nullptr);
  EXPECT_EQ(queue.next()->entry.id, "a");
  EXPECT_DOUBLE_EQ(queue.next()->share, 0.6);
  EXPECT_EQ(queue.open(), 2u);
}

TEST_F(QueueTest, SharesMoveAfterAKeep) {
  add_target("a");
  add_target("b");
  add("a", Decision::kStart);
  add("a", Decision::kKept, 3);
  const Queue queue = load(kTwo);
  EXPECT_EQ(queue.next()->entry.id, "b");  // a: 20 us, 10 to gain; b: 40, 35 to gain
  EXPECT_NEAR(queue.targets()[1].share, 20.0 / 60, 1e-9);
  EXPECT_DOUBLE_EQ(queue.targets()[1].reached.speedup, 3);
}

TEST_F(QueueTest, SharesAreOfTheWholeModelsTimeWhereThatIsKnown) {
  add_target("a");
  add_target("b");
  std::vector<QueueEntry> entries = kTwo;
  entries[0].model_share = 0.3;  // 60 of 200 us
  entries[1].model_share = 0.2;
  EXPECT_DOUBLE_EQ(load(entries).targets()[0].share, 0.3);
  add("a", Decision::kStart);
  add("a", Decision::kKept, 3);  // 60 us become 20, the model's 200 become 160
  const Queue queue = load(entries);
  EXPECT_DOUBLE_EQ(queue.targets()[0].share, 40.0 / 160);
  EXPECT_DOUBLE_EQ(queue.targets()[1].share, 20.0 / 160);
}

TEST_F(QueueTest, ASearchWithoutADecisionCountsItsTrialsAndSaysSo) {
  add_target("a");
  add("a", Decision::kStart, 1, 0, 36);
  EXPECT_FALSE(load({kTwo[0]}).targets()[0].reached.unfinished);
  add("a", Decision::kRunning, 1, 0, 72);
  const Reached reached = load({kTwo[0]}).targets()[0].reached;
  EXPECT_EQ(reached.unfinished, 1u);
  EXPECT_EQ(reached.experiments, 1u);  // it may be resumed, or closed
  EXPECT_EQ(reached.trials, 2u);
  EXPECT_DOUBLE_EQ(reached.hours, 0.03);
  EXPECT_EQ(reached.last, Decision::kStart);
}

TEST_F(QueueTest, ATargetThatNoSearchHasTouchedComesFirst) {
  add_target("a");
  add_target("b");
  add("a", Decision::kStart);
  EXPECT_EQ(load(kTwo).next()->entry.id, "a");
  add("a", Decision::kReverted);
  EXPECT_EQ(load(kTwo).next()->entry.id, "b");
  add("b", Decision::kStart);
  add("b", Decision::kReverted);
  EXPECT_EQ(load(kTwo).next()->entry.id, "a");
}

TEST_F(QueueTest, EachRuleNamesItsNumberAndItsLimit) {
  Reached reached;
  EXPECT_FALSE(moves_on(reached, {}));
  reached.reverts = 5;
  EXPECT_THAT(moves_on(reached, {}).value_or(""), HasSubstr("5 experiments in a row"));
  reached = {.hours = 2.5};
  EXPECT_THAT(moves_on(reached, {}).value_or(""), HasSubstr("2.50 h"));
  reached = {.best_us = 100, .floor_us = 91};
  EXPECT_THAT(moves_on(reached, {}).value_or(""), HasSubstr("91 % of its floor"));
  reached.floor_us = 89;
  EXPECT_FALSE(moves_on(reached, {}));
  reached = {.best_us = 100, .baseline_us = 200};
  EXPECT_THAT(moves_on(reached, {}).value_or(""), HasSubstr("2.00x over the fastest PyTorch baseline"));
  reached = {.exhausted = true};
  EXPECT_THAT(moves_on(reached, {}).value_or(""), HasSubstr("every valid config"));
}

TEST_F(QueueTest, RevertsInARowEndWithAKeep) {
  add_target("a");
  add("a", Decision::kStart);
  for (int i = 0; i < 4; ++i) add("a", Decision::kReverted);
  EXPECT_EQ(load({kTwo[0]}).targets()[0].reached.reverts, 4u);
  add("a", Decision::kKept, 1.1);
  EXPECT_EQ(load({kTwo[0]}).targets()[0].reached.reverts, 0u);
  for (int i = 0; i < 5; ++i) add("a", Decision::kAmbiguous);
  const Queue queue = load({kTwo[0]});
  EXPECT_EQ(queue.next(), nullptr);
  EXPECT_EQ(queue.open(), 0u);
}

TEST_F(QueueTest, TheFloorIsThatOfTheIncumbentOnThisDevice) {
  add_target("a", 2);
  add("a", Decision::kStart, 1, 47);
  const Queue queue = load({kTwo[0]});
  EXPECT_DOUBLE_EQ(queue.targets()[0].reached.floor_us.value_or(0), 94);  // two calls
  EXPECT_THAT(queue.targets()[0].moved_on.value_or(""), HasSubstr("94 % of its floor"));
}

TEST_F(QueueTest, AnotherDevicesExperimentsDoNotCount) {
  add_target("a");
  add("a", Decision::kStart, 1, 47, 1, "elsewhere");
  EXPECT_EQ(load({kTwo[0]}).targets()[0].reached.experiments, 0u);
}

TEST_F(QueueTest, ATargetThatWasLeftIsTriedAgainWhenItsShareHasGrown) {
  add_target("a");
  add_target("b");
  add("b", Decision::kStart);
  for (int i = 0; i < 5; ++i) add("b", Decision::kReverted);
  EXPECT_TRUE(load(kTwo).targets()[1].moved_on);
  add("a", Decision::kStart);
  add("a", Decision::kKept, 6);  // a: 10 us of 50 now, b's share grew from 0.4 to 0.8
  const Queue queue = load(kTwo);
  ASSERT_NE(queue.next(), nullptr);
  EXPECT_EQ(queue.next()->entry.id, "b");
  for (int i = 0; i < 5; ++i) add("b", Decision::kReverted);
  EXPECT_NE(load(kTwo).next()->entry.id, "b");  // tried again, in vain
}

TEST_F(QueueTest, AnExhaustedSpaceIsRememberedUntilTheFileChanges) {
  add_target("a");
  QueueEntry entry = kTwo[0];
  entry.kernel_hash = "searched";
  EXPECT_NE(load({entry}).next(), nullptr);
  ASSERT_TRUE(mark_exhausted(*ledger_, "a", "optimize", "here", "searched"));
  EXPECT_EQ(load({entry}).next(), nullptr);
  entry.kernel_hash = "edited";
  EXPECT_NE(load({entry}).next(), nullptr);
}

TEST_F(QueueTest, ASpaceThatWasExhaustedOnAnotherDeviceIsOpenHere) {
  add_target("a");
  QueueEntry entry = kTwo[0];
  entry.kernel_hash = "searched";
  ASSERT_TRUE(mark_exhausted(*ledger_, "a", "optimize", "elsewhere", "searched"));
  EXPECT_NE(load({entry}).next(), nullptr);
}

TEST_F(QueueTest, ARecordedEditIsNoSearch) {
  add_target("a");
  add_target("b");
  add("a", Decision::kStart);
  add("a", Decision::kReverted, 1, 0, 1, "here", std::string(kEditProposer));
  const Queue queue = load(kTwo);
  EXPECT_EQ(queue.next()->entry.id, "a");  // its configs were not searched yet
  EXPECT_EQ(queue.next()->reached.reverts, 1u);
}

}  // namespace
}  // namespace ak::campaign
