#include "autokernel/ledger/ledger.h"

#include "fixtures.h"

namespace ak::ledger {
namespace {

using ::testing::HasSubstr;
using LedgerTest = LedgerFixture;

TEST_F(LedgerTest, AnExperimentComesBackAsItWasWritten) {
  Ledger ledger = open_with_experiment();
  const auto e = ledger.experiment(1);
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->target, "rmsnorm");
  EXPECT_EQ(e->proposer, "tune:annealing");
  EXPECT_EQ(e->decision, Decision::kRunning);
  EXPECT_EQ(e->seed, 7u);
  EXPECT_EQ(e->started_at, "2026-01-02T03:04:05Z");
  const auto context = ledger.context(1);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->device.name, "Test CPU, 2 threads");
  EXPECT_EQ(context->compiler, "g++ 12.2.0");
}

TEST_F(LedgerTest, TheLargestSeedSurvives) {
  Ledger ledger = open_with_experiment();
  Experiment e = experiment_on("rmsnorm", "v1");
  e.seed = 18446744073709551615u;
  const auto id = ledger.begin_experiment(e, cpu_context());
  ASSERT_TRUE(id);
  EXPECT_EQ(ledger.experiment(*id)->seed, 18446744073709551615u);
}

TEST_F(LedgerTest, TrialsComeBackInTheOrderInWhichTheyWereAppended) {
  Ledger ledger = open_with_experiment();
  for (int threads : {512, 64, 128}) {
    const Trial t = passed_trial(1, threads, threads);
    ASSERT_TRUE(ledger.append_trial(t, verdict_for(t)));
  }
  const auto trials = ledger.trials(1);
  ASSERT_TRUE(trials) << trials.error().message;
  ASSERT_EQ(trials->size(), 3u);
  EXPECT_EQ((*trials)[0].config, config_of(512));
  EXPECT_EQ((*trials)[1].config, config_of(64));
  EXPECT_EQ((*trials)[2].config, config_of(128));
  EXPECT_DOUBLE_EQ((*trials)[1].time->ci_low_us, 64 * 0.98);
}

TEST_F(LedgerTest, ATrialKeepsWhatItsVerdictSaysOfTheProblem) {
  Ledger ledger = open_with_experiment();
  const Trial t = passed_trial(1, 64, 10);
  Verdict v = verdict_for(t);
  v.sandboxed = false;
  v.flags = {"gains only when warm"};
  ASSERT_TRUE(ledger.append_trial(t, v));
  const auto records = ledger.trial_records(1);
  ASSERT_TRUE(records) << records.error().message;
  const TrialFacts& facts = records->front().facts;
  EXPECT_EQ(facts.floor_us, 5.0);
  EXPECT_EQ(facts.baseline_us, std::nullopt);
  EXPECT_EQ(facts.peak_gbps, 8);
  EXPECT_FALSE(facts.sandboxed);
  EXPECT_EQ(facts.flags, v.flags);
}

TEST_F(LedgerTest, AFailureKeepsItsKindAndAMessageWithBytesThatAreNoText) {
  Ledger ledger = open_with_experiment();
  const Trial t = failed_trial(1, 4096, FailureKind::kCompile, "bad \xff byte, \"quotes\"\n</td>");
  ASSERT_TRUE(ledger.append_failed_trial(t));
  const auto trials = ledger.trials(1);
  ASSERT_TRUE(trials) << trials.error().message;
  ASSERT_TRUE(trials->front().failure);
  EXPECT_EQ(trials->front().failure->kind, FailureKind::kCompile);
  EXPECT_THAT(trials->front().failure->message, HasSubstr("\"quotes\"\n</td>"));
}

TEST_F(LedgerTest, AVerdictOfTheSelfTestIsRefused) {
  Ledger ledger = open_with_experiment();
  const Trial t = passed_trial(1, 64, 10);
  Verdict v = verdict_for(t);
  v.selftest = true;
  const auto id = ledger.append_trial(t, v);
  ASSERT_FALSE(id);
  EXPECT_THAT(id.error().message, HasSubstr("self-test"));
  EXPECT_FALSE(ledger.attach_verdict(1, v));
  EXPECT_TRUE(ledger.trials(1)->empty());
}

TEST_F(LedgerTest, ATrialThatPassedNeedsAVerdictThatPassed) {
  Ledger ledger = open_with_experiment();
  const Trial t = passed_trial(1, 64, 10);
  Verdict failed = verdict_for(t);
  failed.passed = false;
  EXPECT_FALSE(ledger.append_trial(t, failed));
  EXPECT_FALSE(ledger.append_failed_trial(t));
}

TEST_F(LedgerTest, TrialsOfAKernelAreFoundAcrossExperimentsButNotAcrossDevices) {
  Ledger ledger = open_with_experiment();
  const Trial first = passed_trial(1, 64, 10);
  ASSERT_TRUE(ledger.append_trial(first, verdict_for(first)));
  const auto second_id = ledger.begin_experiment(experiment_on("rmsnorm", "v1"), cpu_context());
  const Trial second = passed_trial(*second_id, 128, 9);
  ASSERT_TRUE(ledger.append_trial(second, verdict_for(second)));
  RunContext other = cpu_context();
  other.device.uuid = "gpu-9";
  const auto third_id = ledger.begin_experiment(experiment_on("rmsnorm", "v1"), other);
  const Trial third = passed_trial(*third_id, 256, 8);
  ASSERT_TRUE(ledger.append_trial(third, verdict_for(third)));

  const auto found =
      ledger.trials_of({.target = "rmsnorm", .kernel_hash = content_hash("v1"), .device_uuid = "cpu-1"});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].config, config_of(64));
  EXPECT_EQ((*found)[1].config, config_of(128));
}

TEST_F(LedgerTest, AFinishedExperimentTakesNoMoreTrialsAndNoSecondDecision) {
  Ledger ledger = open_with_experiment();
  Experiment e = *ledger.experiment(1);
  e.decision = Decision::kKept;
  e.best_config = config_of(64);
  e.objective_us = 10;
  e.confirmation = Comparison{.ratio = 1.5, .ci_low = 1.4, .ci_high = 1.6, .incumbent = {15, 14, 16}};
  ASSERT_TRUE(ledger.finish_experiment(e));
  const Trial t = passed_trial(1, 64, 10);
  const auto late = ledger.append_trial(t, verdict_for(t));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("finished (kept)"));
  EXPECT_FALSE(ledger.finish_experiment(e));
  EXPECT_DOUBLE_EQ(ledger.experiment(1)->confirmation->ci_low, 1.4);
  EXPECT_EQ(ledger.experiment(1)->ended_at, "2026-01-02T03:04:05Z");
}

TEST_F(LedgerTest, AnExperimentCannotEndWithoutADecision) {
  Ledger ledger = open_with_experiment();
  EXPECT_FALSE(ledger.finish_experiment(*ledger.experiment(1)));
}

TEST_F(LedgerTest, TheIncumbentIsTheLastKeptOrStart) {
  Ledger ledger = open_with_experiment();
  EXPECT_FALSE(ledger.incumbent("rmsnorm")->has_value());
  const auto finish = [&](Decision decision) {
    Experiment e = ledger.unfinished()->back();
    e.decision = decision;
    ASSERT_TRUE(ledger.finish_experiment(e));
    ASSERT_TRUE(ledger.begin_experiment(experiment_on("rmsnorm", "v1"), cpu_context()));
  };
  finish(Decision::kStart);
  finish(Decision::kKept);
  finish(Decision::kReverted);
  finish(Decision::kAmbiguous);
  const auto incumbent = ledger.incumbent("rmsnorm", "tune");
  ASSERT_TRUE(incumbent && *incumbent);
  EXPECT_EQ((*incumbent)->id, 2);
  EXPECT_FALSE(ledger.incumbent("rmsnorm", "another")->has_value());
}

TEST_F(LedgerTest, ExperimentsNeedATargetAndAKernelThatAreKnown) {
  Ledger ledger = open();
  EXPECT_THAT(ledger.begin_experiment(experiment_on("rmsnorm", "v1"), cpu_context()).error().message,
              HasSubstr("target 'rmsnorm'"));
  ASSERT_TRUE(ledger.put_target(small_target(), ""));
  EXPECT_THAT(ledger.begin_experiment(experiment_on("rmsnorm", "v1"), cpu_context()).error().message,
              HasSubstr("kernel"));
}

TEST_F(LedgerTest, TwoKernelsWithOneHashAreABug) {
  Ledger ledger = open();
  ASSERT_TRUE(ledger.put_kernel("h", "a"));
  EXPECT_TRUE(ledger.put_kernel("h", "a"));
  EXPECT_FALSE(ledger.put_kernel("h", "b"));
  EXPECT_EQ(*ledger.kernel_text("h"), "a");
}

TEST_F(LedgerTest, StateIsReplacedAndErased) {
  Ledger ledger = open();
  EXPECT_FALSE(ledger.get_state("strategy/1")->has_value());
  ASSERT_TRUE(ledger.set_state("strategy/1", "a"));
  ASSERT_TRUE(ledger.set_state("strategy/1", "b"));
  EXPECT_EQ(*ledger.get_state("strategy/1"), "b");
  ASSERT_TRUE(ledger.erase_state("strategy/1"));
  EXPECT_FALSE(ledger.get_state("strategy/1")->has_value());
}

TEST_F(LedgerTest, ABatchThatIsNotCommittedLeavesNothing) {
  Ledger ledger = open_with_experiment();
  {
    auto batch = ledger.batch();
    ASSERT_TRUE(batch);
    const Trial t = passed_trial(1, 64, 10);
    ASSERT_TRUE(ledger.append_trial(t, verdict_for(t)));
    ASSERT_TRUE(ledger.set_state("k", "v"));
  }
  EXPECT_TRUE(ledger.trials(1)->empty());
  EXPECT_FALSE(ledger.get_state("k")->has_value());
}

TEST_F(LedgerTest, ACommittedBatchIsThereForTheNextProcess) {
  {
    Ledger ledger = open_with_experiment();
    auto batch = ledger.batch();
    const Trial t = passed_trial(1, 64, 10);
    ASSERT_TRUE(ledger.append_trial(t, verdict_for(t)));
    ASSERT_TRUE(batch->commit());
  }
  EXPECT_EQ(open().trials(1)->size(), 1u);
}

TEST_F(LedgerTest, AReaderSeesCommittedTrialsWhileTheWriterHoldsTheFile) {
  Ledger writer = open_with_experiment();
  Ledger reader = open(Access::kReadOnly);
  const Trial t = passed_trial(1, 64, 10);
  ASSERT_TRUE(writer.append_trial(t, verdict_for(t)));
  EXPECT_EQ(reader.trials(1)->size(), 1u);
  EXPECT_FALSE(reader.set_state("k", "v"));
}

TEST_F(LedgerTest, AVerdictIsKeptForShow) {
  Ledger ledger = open_with_experiment();
  EXPECT_FALSE(ledger.verdict(1)->has_value());
  const Trial t = passed_trial(1, 64, 10);
  Verdict v = verdict_for(t);
  v.stages = {{"smoke", "PASS"}};
  ASSERT_TRUE(ledger.attach_verdict(1, v));
  ASSERT_TRUE(ledger.verdict(1)->has_value());
  EXPECT_EQ(ledger.verdict(1)->value().stages, v.stages);
}

TEST_F(LedgerTest, AnUnknownExperimentIsAUsageError) {
  Ledger ledger = open();
  const auto e = ledger.experiment(99);
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code, ErrorCode::kUsage);
  EXPECT_THAT(e.error().message, HasSubstr("no experiment 99"));
}

}  // namespace
}  // namespace ak::ledger
