#include "autokernel/report/report.h"

#include <cstdlib>

#include "sample.h"

namespace ak::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Golden files are reviewed like code; AUTOKERNEL_UPDATE_GOLDEN=1 writes them anew.
void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = std::filesystem::path(AK_SOURCE_DIR) / "tests/unit/report/golden" / name;
  if (std::getenv("AUTOKERNEL_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_atomic(path, text));
  }
  const auto golden = read_file(path);
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(*golden, text) << "differs from " << path;
}

class ReportTest : public SampleFixture {
 protected:
  Report report_of(const ledger::Workspace& workspace) {
    auto report = build(workspace.ledger());
    if (!report) ADD_FAILURE() << report.error().message;
    return std::move(*report);
  }
};

TEST_F(ReportTest, SaysWhatTheRunFoundAndOnWhat) {
  auto workspace = open_workspace();
  record_sample(workspace);
  const Report report = report_of(workspace);
  ASSERT_EQ(report.targets.size(), 1u);
  const TargetReport& target = report.targets[0];
  EXPECT_EQ(target.shown, 2);
  EXPECT_EQ(target.configs, 10u);
  EXPECT_EQ(target.failed_configs, 3u);
  EXPECT_DOUBLE_EQ(*target.best_us, 10.2);
  EXPECT_DOUBLE_EQ(*target.start_us, 20);
  EXPECT_THAT(target.headline(), HasSubstr("1.95x"));
  EXPECT_EQ(target.facts.line(),
            "Test CPU, 2 threads (cpu), 2026-01-02, g++ 12.2.0, seed 7, sandbox on, warm caches");
  ASSERT_EQ(target.config_rows.size(), 1u);
  EXPECT_EQ(target.config_rows[0].start, "256");
  EXPECT_EQ(target.config_rows[0].best, "72");
}

TEST_F(ReportTest, TheWinnerOfAProblemIsTheFastestByThePairedRatio) {
  auto workspace = open_workspace();
  record_sample(workspace);
  const ProblemRow row = report_of(workspace).targets[0].problems.at(0);
  EXPECT_EQ(row.config, ledger::config_of(72));
  EXPECT_DOUBLE_EQ(row.best_us, 10);
  EXPECT_EQ(row.floor_us, 5.0);
  EXPECT_DOUBLE_EQ(*row.pct_peak, 50);
}

TEST_F(ReportTest, FailuresAreCountedByKindWithTheFirstMessage) {
  auto workspace = open_workspace();
  record_sample(workspace);
  const auto report = report_of(workspace);
  const auto& failures = report.targets[0].failures;
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].kind, "invalid_config");
  EXPECT_EQ(failures[0].count, 1u);
  EXPECT_EQ(failures[1].kind, "compile");
  EXPECT_EQ(failures[1].count, 2u);
  EXPECT_THAT(failures[1].message, HasSubstr("<script>"));
}

TEST_F(ReportTest, ARunThatIsNotFinishedIsShownAsUnconfirmed) {
  auto workspace = open_workspace();
  record_start(workspace, 20);
  record_search(workspace, {0.9, 1.25}, 20);
  const auto target = report_of(workspace).targets[0];
  EXPECT_THAT(target.headline(), HasSubstr("unconfirmed"));
  EXPECT_DOUBLE_EQ(*target.best_us, 16);
}

TEST_F(ReportTest, ALaterSearchIsToldAgainstWhatWasKeptBeforeIt) {
  auto workspace = open_workspace();
  record_sample(workspace);  // experiment 2 keeps THREADS=72, 2.0x the 20 us of the start
  Experiment later = record_search(workspace, {0.9, 1.25}, 10);
  later.best_config = ledger::config_of(24);
  finish(workspace, later, Decision::kKept, 8);
  const Report report = report_of(workspace);
  const TargetReport& target = report.targets[0];
  EXPECT_EQ(target.before, "experiment 2");
  const ProblemRow& row = target.problems.at(0);
  ASSERT_TRUE(row.start);
  EXPECT_DOUBLE_EQ(row.start->median_us, 20 / 2.0 * 1.01);  // of its kept config, not of the start
  EXPECT_DOUBLE_EQ(row.best_us, 20 / 2.0 * 1.01 / 1.25);
  EXPECT_THAT(terminal(report), HasSubstr("experiment 2, a call"));
  EXPECT_THAT(html(report), HasSubstr("experiment 2, a call"));
  EXPECT_THAT(terminal(report), Not(HasSubstr("start, a call")));
}

TEST_F(ReportTest, AnExperimentWithoutADecisionIsNamed) {
  auto workspace = open_workspace();
  record_sample(workspace);
  record_search(workspace, {0.9, 1.25}, 10);
  const Report interrupted = report_of(workspace);
  for (const std::string& text : {terminal(interrupted), markdown(interrupted), html(interrupted)}) {
    EXPECT_THAT(text, HasSubstr("experiment 3 was interrupted: it has no decision yet"));
  }
  const auto running =
      build(workspace.ledger(), {.target = "", .tag = "", .unfinished = ledger::Unfinished::kRunning});
  ASSERT_TRUE(running);
  EXPECT_THAT(terminal(*running), HasSubstr("experiment 3 is still running"));
  EXPECT_THAT(terminal(report_of(workspace)), Not(HasSubstr("running")));
}

TEST_F(ReportTest, SizesThatARehearsalReducedAreLabelled) {
  auto workspace = open_workspace();
  Target whole = ledger::small_target();
  const std::string id = whole.id;
  whole.problems[0].problem.dims["M"] = 4096;
  whole.problems[0].calls = 9;
  ASSERT_TRUE(workspace.add_target(whole, "", "v0"));
  Target reduced = ledger::small_target();
  reduced.id = id + std::string(kRehearsal);
  reduced.problems[0].calls = 9;
  ASSERT_TRUE(workspace.add_target(reduced, "", "v0"));
  Experiment start = ledger::experiment_on(reduced.id, "v0");
  start.proposer = kStartProposer;
  auto begun = workspace.begin(start, "v0", ledger::cpu_context());
  ASSERT_TRUE(begun);
  begun->best_config = ledger::config_of(256);
  add(workspace, ledger::passed_trial(begun->id, 256, 10));
  finish(workspace, *begun, Decision::kStart, 90);
  const Report report = report_of(workspace);
  ASSERT_EQ(report.targets.size(), 1u);
  EXPECT_EQ(report.targets[0].scope, "all 9 calls");
  EXPECT_EQ(report.targets[0].problems.at(0).stands_for, whole.problems[0].problem.label());
  for (const std::string& text : {terminal(report), markdown(report), html(report)}) {
    EXPECT_THAT(text, HasSubstr("reduced from"));
    EXPECT_THAT(text, HasSubstr("M=4096"));
    EXPECT_THAT(text, HasSubstr("all 9 calls"));
  }
}

TEST_F(ReportTest, ASearchThatKeptNothingDoesNotHideWhatWasKept) {
  auto workspace = open_workspace();
  record_sample(workspace);
  Experiment later = record_search(workspace, {0.9, 1.01}, 10);
  finish(workspace, later, Decision::kReverted, 0);
  const TargetReport target = report_of(workspace).targets[0];
  EXPECT_EQ(target.shown, 2);
  EXPECT_THAT(target.headline(), HasSubstr("1.95x"));
  record_start(workspace, 30);  // --fresh
  EXPECT_EQ(report_of(workspace).targets[0].shown, 4);
}

TEST_F(ReportTest, AStartAloneIsReported) {
  auto workspace = open_workspace();
  record_start(workspace, 20);
  const auto target = report_of(workspace).targets[0];
  EXPECT_EQ(target.shown, 1);
  EXPECT_THAT(target.headline(), HasSubstr("nothing was tried"));
  EXPECT_DOUBLE_EQ(*target.best_us, 20);
}

TEST_F(ReportTest, AProblemThatAConfigCannotRunCostsWhatTheStartCosts) {
  auto workspace = open_workspace();
  Target two = ledger::small_target();
  two.problems.push_back(two.problems[0]);
  two.problems[1].id = "p1";
  two.problems[1].calls = 3;
  ASSERT_TRUE(workspace.ledger().put_target(two, ""));
  Experiment start = begin(workspace, "start", "start");
  add(workspace, ledger::passed_trial(start.id, 256, 10, "p0"));
  add(workspace, ledger::passed_trial(start.id, 256, 100, "p1"));
  finish(workspace, start, Decision::kStart, 310);
  const Experiment tune = begin(workspace, "tune:random", "random");
  add(workspace, ledger::passed_trial(tune.id, 64, 5, "p0"));  // not valid for p1
  EXPECT_DOUBLE_EQ(*report_of(workspace).targets[0].best_us, 5 + 3 * 100);
}

TEST_F(ReportTest, HostileTextsStayTextInEveryFormat) {
  auto workspace = open_workspace();
  record_sample(workspace);
  const Report report = report_of(workspace);
  const std::string page = html(report);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(terminal(report), Not(HasSubstr("\x1b")));
  // The message holds a fence of three backquotes: the block has a longer one.
  EXPECT_THAT(markdown(report), HasSubstr("\n````text\n"));
  EXPECT_THAT(markdown(report), Not(HasSubstr("\n# heading\n```\n")));
}

TEST_F(ReportTest, ThePageNeedsNothingFromElsewhere) {
  auto workspace = open_workspace();
  record_sample(workspace);
  const std::string page = html(report_of(workspace));
  for (const char* outside : {"src=", "href=", "@import", "url(", "<script", "<link"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
}

TEST_F(ReportTest, AnUnknownTargetIsAUsageErrorThatListsTheKnownOnes) {
  auto workspace = open_workspace();
  const auto report = build(workspace.ledger(), {.target = "softmax", .tag = ""});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("the ledger has rmsnorm"));
}

TEST_F(ReportTest, AnEmptyWorkspaceHasNothingToReport) {
  auto workspace = open_workspace();
  const auto paths = write_reports(workspace);
  ASSERT_FALSE(paths);
  EXPECT_EQ(paths.error().code, ErrorCode::kUsage);
  EXPECT_EQ(terminal(report_of(workspace)), "nothing was recorded yet\n");
}

TEST_F(ReportTest, ReportsAreWrittenByAReaderWhileTheRunGoesOn) {
  auto workspace = open_workspace();
  record_sample(workspace);
  const auto reader = ledger::Workspace::open_read_only(folder(), clock_);
  ASSERT_TRUE(reader) << reader.error().message;
  const auto paths = write_reports(*reader);
  ASSERT_TRUE(paths) << paths.error().message;
  EXPECT_EQ(read_file(paths->html).value(), html(report_of(workspace)));
  EXPECT_THAT(read_file(paths->progress).value(), HasSubstr("<svg"));
}

TEST_F(ReportTest, MarkdownIsAsReviewed) {
  auto workspace = open_workspace();
  record_sample(workspace);
  expect_golden("report.md", markdown(report_of(workspace)));
}

TEST_F(ReportTest, TerminalIsAsReviewed) {
  auto workspace = open_workspace();
  record_sample(workspace);
  expect_golden("report.txt", terminal(report_of(workspace)));
}

TEST_F(ReportTest, HtmlIsAsReviewed) {
  auto workspace = open_workspace();
  record_sample(workspace);
  expect_golden("report.html", html(report_of(workspace)));
}

}  // namespace
}  // namespace ak::report
