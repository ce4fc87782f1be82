#include "autokernel/ledger/workspace.h"

#include <fstream>

#include "autokernel/base/subprocess.h"
#include "autokernel/ledger/workspace_refs.h"
#include "fixtures.h"

namespace ak::ledger {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WorkspaceTest : public LedgerFixture {
 protected:
  fs::path folder() const { return folder_->path() / "ws"; }
  fs::path kernel_file() const { return folder() / "targets" / "rmsnorm" / "kernel.cu"; }
  Workspace open_workspace() {
    auto workspace = Workspace::open(folder(), clock_);
    if (!workspace) ADD_FAILURE() << workspace.error().message;
    return std::move(*workspace);
  }
  Workspace open_with_target() {
    Workspace workspace = open_workspace();
    EXPECT_TRUE(workspace.add_target(small_target(), "schema = 1\n", "v0"));
    return workspace;
  }
  Experiment run(Workspace& workspace, Decision decision, const std::string& kernel,
                 const std::string& tag = "tune") {
    auto e = workspace.begin(experiment_on("rmsnorm", kernel, tag), kernel, cpu_context());
    EXPECT_TRUE(e) << e.error().message;
    const Trial t = passed_trial(e->id, 64, 10);
    EXPECT_TRUE(workspace.ledger().append_trial(t, verdict_for(t)));
    e->decision = decision;
    e->best_config = config_of(64);
    e->objective_us = 10;
    auto finished = workspace.finish(*e, kernel);
    EXPECT_TRUE(finished) << finished.error().message;
    return finished ? *finished : *e;
  }
  std::string text_of_file(const fs::path& path) {
    auto text = read_file(path);
    return text ? *text : "(" + text.error().message + ")";
  }
};

TEST_F(WorkspaceTest, ANewWorkspaceHasItsFiles) {
  Workspace workspace = open_with_target();
  EXPECT_THAT(text_of_file(workspace.settings_file()), HasSubstr("# threshold = 0.01"));
  EXPECT_TRUE(fs::exists(folder() / "ledger.db"));
  EXPECT_TRUE(fs::exists(folder() / ".git" / "HEAD"));
  EXPECT_TRUE(fs::exists(workspace.reports_folder()));
  EXPECT_EQ(text_of_file(kernel_file()), "v0");
  EXPECT_EQ(text_of_file(folder() / "targets/rmsnorm/target.toml"), "schema = 1\n");
}

TEST_F(WorkspaceTest, SettingsThatWereEditedAreNotOverwritten) {
  {
    open_workspace();
  }
  std::ofstream(folder() / "autokernel.toml") << "seed = 9\n";
  Workspace workspace = open_workspace();
  EXPECT_EQ(text_of_file(workspace.settings_file()), "seed = 9\n");
}

TEST_F(WorkspaceTest, ASecondRunIsRefusedWithThePidOfTheFirst) {
  Workspace workspace = open_workspace();
  const auto second = Workspace::open(folder(), clock_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));
}

TEST_F(WorkspaceTest, AReaderSeesWhetherARunIsGoingOn) {
  {
    Workspace writer = open_workspace();
    EXPECT_EQ(Workspace::open_read_only(folder(), clock_)->unfinished(), Unfinished::kRunning);
    EXPECT_EQ(writer.unfinished(),
              Unfinished::kInterrupted);  // nobody else's: it is the run itself that asks
  }
  std::ofstream(folder() / "lock") << "2147483647\n";  // no process has that number
  EXPECT_EQ(Workspace::open_read_only(folder(), clock_)->unfinished(), Unfinished::kInterrupted);
  EXPECT_EQ(decision_text(Decision::kRunning, Unfinished::kRunning), "running");
  EXPECT_EQ(decision_text(Decision::kRunning, Unfinished::kInterrupted), "interrupted");
  EXPECT_EQ(decision_text(Decision::kKept, Unfinished::kInterrupted), "kept");
}

TEST_F(WorkspaceTest, AReaderNeedsNoLock) {
  Workspace workspace = open_with_target();
  run(workspace, Decision::kStart, "v1");
  const auto reader = Workspace::open_read_only(folder(), clock_);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->ledger().experiments()->size(), 1u);
  EXPECT_EQ(reader->git().refs("refs/heads/")->size(), 1u);
}

TEST_F(WorkspaceTest, AReaderOfNoWorkspaceIsToldWhatMakesOne) {
  const auto reader = Workspace::open_read_only(folder(), clock_);
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("autokernel tune"));
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(WorkspaceTest, AFileInPlaceOfTheFolderIsAUsageError) {
  std::ofstream(folder()).flush();
  const auto workspace = Workspace::open(folder(), clock_);
  ASSERT_FALSE(workspace);
  EXPECT_EQ(workspace.error().code, ErrorCode::kUsage);
}

TEST_F(WorkspaceTest, AnUnwritablePlaceIsAnEnvironmentError) {
  const auto workspace = Workspace::open("/proc/autokernel", clock_);
  ASSERT_FALSE(workspace);
  EXPECT_EQ(workspace.error().code, ErrorCode::kEnvironment);
}

TEST_F(WorkspaceTest, AKeptExperimentAdvancesTheBranchAndBecomesTheKernel) {
  Workspace workspace = open_with_target();
  const Experiment start = run(workspace, Decision::kStart, "v0");
  const Experiment kept = run(workspace, Decision::kKept, "v1");
  EXPECT_EQ(workspace.git().refs("refs/heads/")->at("refs/heads/autokernel/tune"), kept.commit);
  EXPECT_EQ(*workspace.git().file_at(kept.commit + "~1", "targets/rmsnorm/kernel.cu"), "v0");
  EXPECT_EQ(text_of_file(kernel_file()), "v1");
  EXPECT_NE(start.commit, kept.commit);
}

TEST_F(WorkspaceTest, ARejectedExperimentStaysReadableAndTheKernelGoesBack) {
  Workspace workspace = open_with_target();
  const Experiment start = run(workspace, Decision::kStart, "v0");
  std::ofstream(kernel_file()) << "v1 slow";  // as an agent edits in place
  const Experiment rejected = run(workspace, Decision::kReverted, "v1 slow");
  EXPECT_EQ(workspace.git().refs("refs/heads/")->at("refs/heads/autokernel/tune"), start.commit);
  EXPECT_EQ(*workspace.git().file_at("refs/autokernel/rejected/2", "targets/rmsnorm/kernel.cu"), "v1 slow");
  EXPECT_EQ(workspace.git().refs("refs/autokernel/")->at("refs/autokernel/rejected/2"), rejected.commit);
  EXPECT_EQ(text_of_file(kernel_file()), "v0");
}

TEST_F(WorkspaceTest, AnEditThatNoExperimentHasSeenIsLeftAlone) {
  {
    Workspace workspace = open_with_target();
    run(workspace, Decision::kStart, "v0");
    std::ofstream(kernel_file()) << "my edit";
    run(workspace, Decision::kKept, "v1");
  }
  EXPECT_EQ(text_of_file(kernel_file()), "my edit");
  {
    open_workspace();
  }
  EXPECT_EQ(text_of_file(kernel_file()), "my edit");
}

TEST_F(WorkspaceTest, AnOlderVersionPutBackByHandStays) {
  {
    Workspace workspace = open_with_target();
    run(workspace, Decision::kStart, "v0");
    run(workspace, Decision::kKept, "v1");
    std::ofstream(kernel_file()) << "v0";
  }
  {
    open_workspace();
  }
  EXPECT_EQ(text_of_file(kernel_file()), "v0");
}

TEST_F(WorkspaceTest, ATuneRunMayEndWithAnotherTextThanItBegan) {
  Workspace workspace = open_with_target();
  auto e = workspace.begin(experiment_on("rmsnorm", "THREADS = 64"), "THREADS = 64", cpu_context());
  ASSERT_TRUE(e) << e.error().message;
  e->decision = Decision::kKept;
  const auto finished = workspace.finish(*e, "THREADS = 128");
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_EQ(finished->kernel_hash, content_hash("THREADS = 64"));
  EXPECT_EQ(*workspace.ledger().kernel_text(*workspace.ledger().result_hash(1)), "THREADS = 128");
  EXPECT_EQ(*workspace.git().file_at(finished->commit, "targets/rmsnorm/kernel.cu"), "THREADS = 128");
}

TEST_F(WorkspaceTest, TagsHaveBranchesOfTheirOwn) {
  Workspace workspace = open_with_target();
  const Experiment a = run(workspace, Decision::kStart, "v0", "a");
  const Experiment b = run(workspace, Decision::kStart, "v0", "b");
  const auto refs = workspace.git().refs("refs/heads/");
  EXPECT_EQ(refs->at("refs/heads/autokernel/a"), a.commit);
  EXPECT_EQ(refs->at("refs/heads/autokernel/b"), b.commit);
}

TEST_F(WorkspaceTest, TagsAndTargetsThatCannotBeNamesAreRefused) {
  Workspace workspace = open_with_target();
  EXPECT_FALSE(workspace.begin(experiment_on("rmsnorm", "v0", "a/../b"), "v0", cpu_context()));
  EXPECT_FALSE(workspace.add_target(small_target("../../etc"), "", ""));
}

TEST_F(WorkspaceTest, ALostRepositoryIsMadeAgainWithTheSameCommits) {
  Experiment kept, rejected;
  {
    Workspace workspace = open_with_target();
    run(workspace, Decision::kStart, "v0");
    rejected = run(workspace, Decision::kReverted, "bad");
    kept = run(workspace, Decision::kKept, "v1");
  }
  fs::remove_all(folder() / ".git");
  Workspace workspace = open_workspace();
  EXPECT_EQ(workspace.git().refs("refs/heads/")->at("refs/heads/autokernel/tune"), kept.commit);
  EXPECT_EQ(workspace.git().refs("refs/autokernel/")->at("refs/autokernel/rejected/2"), rejected.commit);
  EXPECT_FALSE(workspace.repairs().actions.empty());
}

TEST_F(WorkspaceTest, RefsAreRebuiltFromTheLedger) {
  Experiment start, kept;
  {
    Workspace workspace = open_with_target();
    start = run(workspace, Decision::kStart, "v0");
    kept = run(workspace, Decision::kKept, "v1");
  }
  {
    auto git = GitRepository::open_existing(folder());
    ASSERT_TRUE(git->update_refs({{"refs/heads/autokernel/tune", start.commit},
                                  {"refs/heads/autokernel/stray", start.commit},
                                  {"refs/heads/mine", start.commit},
                                  {"refs/autokernel/rejected/77", start.commit}}));
  }
  Workspace workspace = open_workspace();
  const auto refs = workspace.git().refs("refs/");
  EXPECT_EQ(refs->at("refs/heads/autokernel/tune"), kept.commit);
  EXPECT_EQ(refs->at("refs/heads/mine"), start.commit);  // a user's own branch
  EXPECT_EQ(refs->size(), 2u);
}

TEST_F(WorkspaceTest, ACleanReopenRepairsNothing) {
  {
    Workspace workspace = open_with_target();
    run(workspace, Decision::kStart, "v0");
    run(workspace, Decision::kReverted, "v1");
  }
  EXPECT_THAT(open_workspace().repairs().actions, ::testing::IsEmpty());
}

TEST_F(WorkspaceTest, TheKernelIsBroughtUpToDateWhenTheRunDiedBeforeWritingIt) {
  {
    Workspace workspace = open_with_target();
    run(workspace, Decision::kStart, "v0");
    auto e = workspace.begin(experiment_on("rmsnorm", "v1"), "v1", cpu_context());
    e->decision = Decision::kKept;
    ASSERT_TRUE(workspace.ledger().finish_experiment(*e));  // and then it died: no commit, no ref, no file
  }
  EXPECT_EQ(text_of_file(kernel_file()), "v0");
  Workspace workspace = open_workspace();
  EXPECT_EQ(text_of_file(kernel_file()), "v1");
  const std::string commit = workspace.ledger().experiment(2)->commit;
  EXPECT_FALSE(commit.empty());
  EXPECT_EQ(workspace.git().refs("refs/heads/")->at("refs/heads/autokernel/tune"), commit);
}

TEST_F(WorkspaceTest, AKernelThatWasDeletedIsPutBackAndThatIsSaid) {
  {
    Workspace workspace = open_with_target();
    run(workspace, Decision::kStart, "v0");
    run(workspace, Decision::kKept, "v1");
  }
  fs::remove(kernel_file());
  const Workspace workspace = open_workspace();
  EXPECT_EQ(text_of_file(kernel_file()), "v1");
  ASSERT_EQ(workspace.repairs().actions.size(), 1u);
  EXPECT_THAT(workspace.repairs().actions[0],
              HasSubstr("kernel.cu was missing: it is again what experiment 2 left"));
}

TEST_F(WorkspaceTest, AnExperimentKnowsWhatItWasMeasuredAgainst) {
  Workspace workspace = open_with_target();
  const Experiment start = run(workspace, Decision::kStart, "v0");
  const Experiment kept = run(workspace, Decision::kKept, "v1");
  const Experiment reverted = run(workspace, Decision::kReverted, "v2");
  const Experiment elsewhere = run(workspace, Decision::kReverted, "v2", "other");
  const Experiment anew = run(workspace, Decision::kStart, "v3");
  const auto before = [&](const Experiment& e) {
    const auto found = workspace.ledger().incumbent_before(e);
    EXPECT_TRUE(found) << found.error().message;
    return *found ? (*found)->id : 0;
  };
  EXPECT_EQ(before(start), 0);
  EXPECT_EQ(before(kept), start.id);
  EXPECT_EQ(before(reverted), kept.id);
  EXPECT_EQ(before(elsewhere), 0);  // another tag has a history of its own
  EXPECT_EQ(before(anew), 0);
}

TEST_F(WorkspaceTest, GitStatusInTheWorkspaceIsQuietAfterAKeep) {
  Workspace workspace = open_with_target();
  run(workspace, Decision::kStart, "v0");
  run(workspace, Decision::kKept, "v1");
  const auto status = run_process({.argv = {"git", "-C", folder().string(), "status", "--porcelain"},
                                   .directory = folder(),
                                   .environment = {{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent",
                                                    "GIT_CONFIG_GLOBAL=/dev/null"}},
                                   .input = "",
                                   .sandbox = {},
                                   .extra_fds = {}});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->out + status->err, "");
}

TEST_F(WorkspaceTest, ResultsTsvHasARowForEachTrial) {
  Workspace workspace = open_with_target();
  auto e = workspace.begin(experiment_on("rmsnorm", "v1"), "v1", cpu_context());
  const Trial good = passed_trial(e->id, 64, 10);
  ASSERT_TRUE(workspace.ledger().append_trial(good, verdict_for(good)));
  ASSERT_TRUE(workspace.ledger().append_failed_trial(
      failed_trial(e->id, 4096, FailureKind::kInvalidConfig, "4096 threads\tin a block")));
  e->decision = Decision::kKept;
  e->description = "tabs\tand\nlines";
  ASSERT_TRUE(workspace.finish(*e, "v1"));
  EXPECT_EQ(
      text_of_file(workspace.results_file()),
      "experiment\ttag\tkernel_type\tthroughput_tflops\tlatency_us\tpct_peak\tspeedup_vs_"
      "pytorch\tcorrectness\t"
      "peak_vram_mb\tdescription\n"
      "1\ttune\trmsnorm\t0.002\t10.000\t50.0\tn/a\tPASS\t2.50\ttabs and lines: THREADS=64 on p0 (kept)\n"
      "1\ttune\trmsnorm\tn/a\tn/a\tn/a\tn/a\tFAIL (invalid_config)\tn/a\t"
      "tabs and lines: THREADS=4096 on p0 (kept)\n");
}

}  // namespace
}  // namespace ak::ledger
