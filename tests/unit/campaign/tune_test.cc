// The whole loop on a small kernel: workers of the real binary, a ledger, git.

#include "autokernel/campaign/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autokernel/search/strategy.h"
#include "fixture.h"

namespace ak::campaign {
namespace {

using ::testing::HasSubstr;

class TuneTest : public CampaignTest {};

class StrategyTest : public CampaignTest, public testing::WithParamInterface<std::string> {};

TEST_P(StrategyTest, MeasuresItsBudgetOfDistinctConfigsAndDecides) {
  auto ws = workspace();
  auto result = tune(ws, request(GetParam(), 5));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->trials, 5u);
  EXPECT_FALSE(result->start_failure) << result->start_failure->message;
  EXPECT_GT(result->start_time.median_us, 0);
  auto experiments = ws.ledger().experiments();
  ASSERT_TRUE(experiments);
  ASSERT_EQ(experiments->size(), 2u);
  EXPECT_EQ((*experiments)[0].decision, Decision::kStart);
  EXPECT_EQ((*experiments)[1].proposer, "tune:" + GetParam());
  EXPECT_NE((*experiments)[1].decision, Decision::kRunning);
  EXPECT_EQ((*experiments)[1].decision, result->decision);
  EXPECT_FALSE((*experiments)[1].commit.empty());
  auto trials = ws.ledger().trials((*experiments)[1].id);
  ASSERT_TRUE(trials);
  EXPECT_EQ(distinct_configs(*trials), 5u);
}

INSTANTIATE_TEST_SUITE_P(Each, StrategyTest,
                         testing::Values("exhaustive", "random", "local", "annealing", "genetic",
                                         "differential-evolution", "gradient"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(TuneTest, TheWholeSpaceFindsTheFasterConfigsCountsFailuresAndKeepsAConfirmedWinner) {
  auto ws = workspace();
  std::vector<TuneProgress> seen;
  auto result = tune(ws, request("exhaustive", 100), [&](const TuneProgress& now) { seen.push_back(now); });
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->space_size, 15u);
  EXPECT_EQ(result->raw_size, 24u);
  EXPECT_EQ(result->trials, 15u);
  EXPECT_EQ(result->stop_reason, "every valid config was measured");
  EXPECT_EQ(seen.size(), 15u);
  EXPECT_EQ(seen.back().done, 15u);
  std::string messages;
  for (const TuneProgress& each : seen) messages += each.failure ? each.failure->message + "\n" : "";
  EXPECT_EQ(result->failed, (std::map<std::string, std::size_t>{{"wrong", 3}})) << messages;
  ASSERT_EQ(result->decision, Decision::kKept);  // 60 passes against one
  EXPECT_GT(result->speedup, 1.01);
  ASSERT_TRUE(result->confirmation);
  EXPECT_GT(result->confirmation->ci_low, 1.01);
  EXPECT_NE(as_int(result->best_config.values.at("WORK")), 2);
  EXPECT_EQ(as_int(result->best_config.values.at("BAD")), 0);
  EXPECT_EQ(result->problems.size(), 2u);

  auto kernel = read_file(result->kernel_path);
  ASSERT_TRUE(kernel);
  auto file = kernel::parse(*kernel, "kernel.cu");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->defaults, result->best_config);
  auto refs = ws.git().refs("refs/heads/");
  ASSERT_TRUE(refs);
  EXPECT_EQ(refs->at("refs/heads/autokernel/tune"), ws.ledger().experiment(result->experiment)->commit);
}

TEST_F(TuneTest, ALaterSearchMustBeatWhatAnEarlierOneKept) {
  auto ws = workspace();
  auto first = tune(ws, request("exhaustive", 100));
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(first->decision, Decision::kKept);
  EXPECT_EQ(first->start_experiment, 1);
  auto kept = ws.kernel_text("norm");
  ASSERT_TRUE(kept);

  std::string slow = kKernel;
  slow.replace(slow.find("WORK = [0, 1, 2]"), 16, "WORK = [2]");
  auto second = tune(ws, request("random", 2, slow));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->start_experiment, first->experiment);
  EXPECT_EQ(second->start_config, first->best_config);
  EXPECT_NE(second->decision, Decision::kKept);
  EXPECT_EQ(second->best_config, first->best_config);
  EXPECT_EQ(ws.kernel_text("norm").value_or(""), *kept);
  EXPECT_EQ((*ws.ledger().experiments()).size(), 3u);  // no second start

  TuneRequest fresh = request("random", 1, slow);
  fresh.resume = TuneRequest::Resume::kFresh;
  auto third = tune(ws, fresh);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->start_experiment, 4);
  EXPECT_EQ(as_int(third->start_config.values.at("WORK")), 2);
}

TEST_F(TuneTest, AChangedTargetMakesEarlierTimesWorthless) {
  auto ws = workspace();
  ASSERT_TRUE(tune(ws, request("random", 1)));
  TuneRequest other = request("random", 1);
  other.target.problems.pop_back();
  other.target_toml = op::format_target(other.target);
  auto second = tune(ws, other);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->start_experiment, 3);  // measured anew
}

TEST_F(TuneTest, ACommentInTheTargetFileChangesNothing) {
  auto ws = workspace();
  TuneRequest extracted = request("random", 1);
  extracted.target_toml = "# the trace does not tell `eps`\n" + extracted.target_toml;
  ASSERT_TRUE(tune(ws, extracted));
  TuneRequest again = request("random", 1);
  again.seed = 4;
  auto second = tune(ws, again);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->start_experiment, 1);
}

TEST_F(TuneTest, AStartThatDoesNotPassIsTheAnswerAndNothingIsSearched) {
  std::string wrong = kKernel;
  wrong.replace(wrong.find("BAD ? 0"), 7, "true ? 0");
  auto ws = workspace();
  auto result = tune(ws, request("random", 5, wrong));
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(result->start_failure);
  EXPECT_EQ(result->start_failure->kind, FailureKind::kWrong);
  EXPECT_EQ(result->trials, 0u);
  EXPECT_EQ((*ws.ledger().experiments()).size(), 1u);
}

TEST_F(TuneTest, DefaultsThatAreInvalidForAProblemAreAnErrorOfTheUser) {
  std::string needy = kKernel;
  needy.replace(needy.find("where = ["), 9, "needs = [\"N % 2 == 0\"]\nwhere = [");
  auto ws = workspace();
  auto result = tune(ws, request("random", 5, needy));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_THAT(result.error().message, HasSubstr("N % 2 == 0"));
}

TEST_F(TuneTest, AnUnknownStrategyIsAnErrorBeforeAnythingIsMeasured) {
  auto ws = workspace();
  auto result = tune(ws, request("guessing", 5));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("differential-evolution"));
  EXPECT_TRUE((*ws.ledger().experiments()).empty());
}

TEST_F(TuneTest, AnInterruptedRunIsResumedWithoutRepeatingATrial) {
  {
    auto ws = workspace();
    auto first = tune(ws, request("random", 9), [&](const TuneProgress& now) { stop_ = now.done == 4; });
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_TRUE(first->interrupted);
    EXPECT_EQ(first->trials, 4u);
  }
  stop_ = false;
  auto ws = workspace();
  auto second = tune(ws, request("random", 9));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->resumed_trials, 4u);
  EXPECT_EQ(second->trials, 9u);
  EXPECT_FALSE(second->interrupted);
  auto experiments = ws.ledger().experiments();
  ASSERT_EQ(experiments->size(), 2u);
  EXPECT_EQ(distinct_configs(*ws.ledger().trials(2)), 9u);
}

TEST_F(TuneTest, AnotherSeedOrFreshDoesNotResume) {
  auto ws = workspace();
  auto interrupt = [&](const TuneProgress&) { stop_ = true; };
  ASSERT_TRUE(tune(ws, request("random", 9), interrupt));
  stop_ = false;
  TuneRequest other = request("random", 3);
  other.seed = 4;
  auto second = tune(ws, other, interrupt);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->resumed_trials, 0u);
  stop_ = false;
  other.resume = TuneRequest::Resume::kFresh;
  auto third = tune(ws, other);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->resumed_trials, 0u);
  EXPECT_EQ(third->trials, 3u);
  auto unfinished = ws.ledger().unfinished();
  ASSERT_TRUE(unfinished);
  EXPECT_TRUE(unfinished->empty());  // what was left behind is closed
}

TEST_F(TuneTest, TheJsonHasTheKeysThatScriptsRelyOn) {
  auto ws = workspace();
  auto result = tune(ws, request("random", 2));
  ASSERT_TRUE(result) << result.error().message;
  const Json json = to_json(*result);
  for (const char* key :
       {"schema", "best", "start", "speedup", "trials", "failed", "problems", "wall_s", "device"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["schema"], 1);
  for (const char* which : {"best", "start"}) {
    EXPECT_TRUE(json[which]["config"].is_object());
    for (const char* key : {"median", "ci_low", "ci_high"})
      EXPECT_TRUE(json[which]["time_us"][key].is_number());
  }
  EXPECT_TRUE(json["failed"].is_object());
  EXPECT_EQ(json["device"]["kind"], "cpu");
}

}  // namespace
}  // namespace ak::campaign
