// An edited kernel file through the gate: workers of the real binary, a ledger, git.

#include "autokernel/campaign/record.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "autokernel/base/hash.h"
#include "autokernel/campaign/queue.h"
#include "fixture.h"

namespace ak::campaign {
namespace {

using ::testing::HasSubstr;

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

const std::string kFaster = replaced(kKernel, "WORK == 2 ? 60 : 1", "WORK == 2 ? 1 : 1");
const std::string kSlower = replaced(kKernel, "WORK == 2 ? 60 : 1", "WORK == 2 ? 120 : 1");
const std::string kWrong = replaced(kKernel, "BAD ? 0", "true ? 0");

class RecordTest : public CampaignTest {
 protected:
  /// As the command does it: the file in the workspace is edited, then recorded.
  Result<RecordResult> edit(ledger::Workspace& workspace, const std::string& text) {
    const TuneRequest base = request("random", 1);
    AK_TRY_VOID(workspace.add_target(base.target, base.target_toml, kKernel));
    AK_TRY_VOID(write_file_atomic(kernel_file(workspace), text));
    RecordRequest edited;
    edited.tag = "tune";
    edited.target = base.target;
    edited.target_toml = base.target_toml;
    edited.kernel_name = "kernel.cu";
    edited.kernel_text = text;
    AK_TRY(unedited, workspace.unedited_kernel("norm"));
    edited.unedited = unedited;
    edited.note = "fewer passes";
    return record(parts(workspace), stop_, edited);
  }
  static std::filesystem::path kernel_file(const ledger::Workspace& workspace) {
    return workspace.target_folder("norm") / "kernel.cu";
  }
  static void expect_nothing_recorded(ledger::Workspace& workspace, const std::string& text) {
    EXPECT_TRUE((*workspace.ledger().experiments()).empty());
    EXPECT_EQ(workspace.kernel_text("norm").value_or(""), text);
  }
};

TEST_F(RecordTest, AFasterEditIsKeptAgainstTheKernelThatWasThere) {
  auto ws = workspace();
  auto result = edit(ws, kFaster);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->decision, Decision::kKept) << result->summary;
  ASSERT_TRUE(result->comparison);
  EXPECT_GT(result->comparison->ci_low, 1.01);
  EXPECT_EQ(result->start_experiment, 1);
  auto experiments = ws.ledger().experiments();
  ASSERT_EQ(experiments->size(), 2u);
  EXPECT_EQ((*experiments)[0].decision, Decision::kStart);
  EXPECT_EQ((*experiments)[1].proposer, kEditProposer);
  EXPECT_THAT((*experiments)[1].description, HasSubstr("fewer passes: "));
  EXPECT_EQ(ws.kernel_text("norm").value_or(""), kFaster);
  EXPECT_EQ(ws.git().refs("refs/heads/")->at("refs/heads/autokernel/tune"), result->experiment.commit);
  EXPECT_EQ(ws.ledger().trials(2)->size(), 2u);  // a row for each problem
  EXPECT_THAT(read_file(ws.results_file()).value_or(""), HasSubstr("fewer passes"));
  EXPECT_EQ(*ws.unedited_kernel("norm"), kFaster);
}

TEST_F(RecordTest, ASlowerEditIsRevertedAndStaysReadable) {
  auto ws = workspace();
  auto result = edit(ws, kSlower);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->decision, Decision::kReverted) << result->summary;
  EXPECT_EQ(ws.kernel_text("norm").value_or(""), kKernel);
  EXPECT_EQ(ws.ledger().kernel_text(*ws.ledger().result_hash(2)).value_or(""), kSlower);
  const auto refs = ws.git().refs("refs/autokernel/");
  const std::string commit = refs->at("refs/autokernel/rejected/2");
  EXPECT_EQ(ws.git().file_at(commit, "targets/norm/kernel.cu").value_or(""), kSlower);
}

TEST_F(RecordTest, AWrongEditFailsWithItsReason) {
  auto ws = workspace();
  auto result = edit(ws, kWrong);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->decision, Decision::kFailed);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->kind, FailureKind::kWrong);
  EXPECT_FALSE(result->comparison);
  EXPECT_EQ(ws.kernel_text("norm").value_or(""), kKernel);
  EXPECT_EQ(ws.ledger().trials(2)->front().failure->kind, FailureKind::kWrong);
  EXPECT_EQ(to_json(*result)["failure"]["kind"], "wrong");
}

TEST_F(RecordTest, TheNextEditMustBeatTheOneThatWasKept) {
  auto ws = workspace();
  ASSERT_EQ(edit(ws, kFaster)->decision, Decision::kKept);
  auto second = edit(ws, kSlower);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->decision, Decision::kReverted);
  EXPECT_EQ(second->start_experiment, 2);
  EXPECT_EQ((*ws.ledger().experiments()).size(), 3u);  // no second start
  EXPECT_EQ(ws.kernel_text("norm").value_or(""), kFaster);
}

TEST_F(RecordTest, AnEditOfAKernelThatDoesNotPassItselfIsJudgedAlone) {
  auto ws = workspace();
  const TuneRequest base = request("random", 1);
  ASSERT_TRUE(ws.add_target(base.target, base.target_toml, kWrong));  // what there was
  auto result = edit(ws, kFaster);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->decision, Decision::kStart);
  EXPECT_EQ(result->start_experiment, 0);
  EXPECT_EQ(ws.kernel_text("norm").value_or(""), kFaster);
  EXPECT_EQ((*ws.ledger().experiments()).front().decision, Decision::kFailed);
}

TEST_F(RecordTest, AFileThatWasNotEditedIsRefused) {
  auto ws = workspace();
  auto result = edit(ws, kKernel);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_THAT(result.error().message, HasSubstr("no edit to measure"));
  expect_nothing_recorded(ws, kKernel);
}

TEST_F(RecordTest, AFileThatDoesNotParseIsLeftAsItIs) {
  auto ws = workspace();
  const std::string broken = replaced(kKernel, "[defaults]", "[defaults");
  auto result = edit(ws, broken);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUsage);
  EXPECT_THAT(result.error().message, HasSubstr("kernel.cu:"));
  expect_nothing_recorded(ws, broken);
}

TEST_F(RecordTest, AnotherInterfaceIsRefused) {
  auto ws = workspace();
  const std::pair<std::string, std::string> cases[] = {
      {replaced(kKernel, "op = \"tinynorm\"", "op = \"softmax\""), "an edit keeps the op"},
      {replaced(kKernel, "dtypes = [\"f32\"]", "dtypes = [\"f16\"]"), "must cover every problem"},
      {replaced(kKernel, "where = [", "needs = [\"N % 2 == 0\"]\nwhere = ["), "N=257"},
      {replaced(kKernel, "\"weight\", \"y\"", "\"weights\", \"y\""), "weights"},
  };
  for (const auto& [text, message] : cases) {
    auto result = edit(ws, text);
    ASSERT_FALSE(result) << message;
    EXPECT_EQ(result.error().code, ErrorCode::kUsage);
    EXPECT_THAT(result.error().message, HasSubstr(message));
    expect_nothing_recorded(ws, text);
  }
}

TEST_F(RecordTest, AnInterruptBetweenTwoMeasurementsKeepsTheEdit) {
  auto ws = workspace();
  stop_ = true;
  auto result = edit(ws, kFaster);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(ws.kernel_text("norm").value_or(""), kFaster);
  stop_ = false;
  auto again = edit(ws, kFaster);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->experiment.id, 2);
}

TEST_F(RecordTest, AKeptEditOpensATargetAgainWhoseConfigsWereAllMeasured) {
  auto ws = workspace();
  auto tuned = tune(ws, request("exhaustive", 100));
  ASSERT_TRUE(tuned) << tuned.error().message;
  ASSERT_TRUE(tuned->every_config_measured);
  const std::string device = tuned->device.uuid;
  const std::string hash = content_hash(*ws.kernel_text("norm"));
  ASSERT_TRUE(mark_exhausted(ws.ledger(), "norm", "tune", device, hash));
  const auto moved_on = [&] {
    const QueueEntry entry{"norm", "norm", "norm", 100, 0, content_hash(*ws.kernel_text("norm"))};
    return Queue::load(ws.ledger(), {entry}, {.reverts = 100}, device, "tune")->targets()[0].moved_on;
  };
  EXPECT_THAT(moved_on().value_or(""), HasSubstr("every valid config"));
  auto reverted = edit(ws, kKernel);  // the tuned file without its new [defaults]
  ASSERT_TRUE(reverted) << reverted.error().message;
  ASSERT_NE(reverted->decision, Decision::kKept);
  EXPECT_TRUE(moved_on());  // the file is again the one that was searched
  std::string better = *ws.kernel_text("norm");
  better = replaced(better, "? 60 : 1", "? 1 : 1");
  ASSERT_TRUE(write_file_atomic(kernel_file(ws), better));
  EXPECT_FALSE(moved_on());  // an edit alone opens it
}

}  // namespace
}  // namespace ak::campaign
