#include "autokernel/worker/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "autokernel/base/file.h"

namespace ak::worker {
namespace {

using ::testing::HasSubstr;

PoolOptions fake(const std::string& mode, std::size_t compilers = 2) {
  std::signal(SIGPIPE, SIG_IGN);
  PoolOptions options;
  options.command = {AK_FAKE_RUNNER, "--supervise", mode};
  options.compilers = compilers;
  return options;
}

std::unique_ptr<Pool> pool(PoolOptions options) {
  auto made = Pool::start(std::move(options));
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::move(*made) : nullptr;
}

harness::Job job() {
  harness::Job out;
  out.target.op = "op";
  out.candidate.text = "text";
  return out;
}

Source source(int n) {
  Source out;
  out.text = "kernel " + std::to_string(n);
  return out;
}

TEST(Pool, AWorkerThatDoesNotStartIsAnError) {
  auto made = Pool::start({.command = {"/nonexistent/worker"}});
  ASSERT_FALSE(made);
}

TEST(Pool, JudgesOneAfterAnotherInTheSameRunner) {
  auto workers = pool(fake(""));
  std::vector<std::future<Result<Verdict>>> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(workers->judge(job(), Freshness::kReuse));
  std::set<std::string> pids;
  for (auto& answer : answers) {
    auto verdict = answer.get();
    ASSERT_TRUE(verdict) << verdict.error().message;
    pids.insert(verdict->flags.at(0));
  }
  EXPECT_EQ(pids.size(), 1u);
}

TEST(Pool, FreshMeansAnotherRunner) {
  auto workers = pool(fake(""));
  auto first = workers->judge(job(), Freshness::kReuse).get();
  auto second = workers->judge(job(), Freshness::kFresh).get();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->flags.at(0), second->flags.at(0));
}

TEST(Pool, CompilesManySourcesAndEachOnlyOnce) {
  auto workers = pool(fake(""));
  std::vector<std::shared_future<Result<CompileAnswer>>> answers;
  for (int i = 0; i < 8; ++i) answers.push_back(workers->compile(source(i % 4)));
  for (auto& answer : answers) ASSERT_TRUE(answer.get()) << answer.get().error().message;
  EXPECT_EQ(&answers[0].get(), &answers[4].get());
}

TEST(Pool, WithoutCompileWorkersTheMeasuringOneCompiles) {
  auto workers = pool(fake("", 0));
  EXPECT_TRUE(workers->compile(source(1)).get());
}

TEST(Pool, AnInfrastructureFailureIsRetriedOnceInAFreshRunner) {
  auto folder = TempDir::create("ak-pool");
  ASSERT_TRUE(folder);
  auto workers = pool(fake("once:" + (folder->path() / "died").string()));
  auto verdict = workers->judge(job(), Freshness::kReuse).get();
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verdict->passed);
}

TEST(Pool, ARunnerThatDiesTwiceIsACrashOfTheCandidate) {
  auto workers = pool(fake("segfault"));
  auto verdict = workers->judge(job(), Freshness::kReuse).get();
  ASSERT_TRUE(verdict) << verdict.error().message;
  ASSERT_TRUE(verdict->failure);
  EXPECT_EQ(verdict->failure->kind, FailureKind::kCrash);
  EXPECT_THAT(verdict->failure->message, HasSubstr("SIGSEGV"));
}

TEST(Pool, ATimeoutIsNotRetried) {
  auto options = fake("hang");
  options.judge_deadline = std::chrono::milliseconds(100);
  auto workers = pool(std::move(options));
  auto verdict = workers->judge(job(), Freshness::kReuse).get();
  ASSERT_TRUE(verdict) << verdict.error().message;
  ASSERT_TRUE(verdict->failure);
  EXPECT_EQ(verdict->failure->kind, FailureKind::kTimeout);
}

TEST(Pool, AWorkerThatDiedIsStartedAgainAndTheJobRepeatedOnce) {
  auto folder = TempDir::create("ak-pool");
  ASSERT_TRUE(folder);
  auto workers = pool(fake("kill-once:" + (folder->path() / "died").string()));
  auto verdict = workers->judge(job(), Freshness::kReuse).get();
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verdict->passed);
}

TEST(Pool, AJobThatKillsTheWorkerTwiceIsAnError) {
  auto workers = pool(fake("kill-supervisor"));
  EXPECT_FALSE(workers->judge(job(), Freshness::kReuse).get());
}

TEST(Pool, ACompileWhoseWorkerDiedIsTriedAgainOnce) {
  auto folder = TempDir::create("ak-pool");
  ASSERT_TRUE(folder);
  auto workers = pool(fake("once:" + (folder->path() / "died").string()));
  auto answer = workers->compile(source(1)).get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_FALSE(answer->failure);
}

TEST(Pool, ACompileThatKillsItsWorkerTwiceIsAnError) {
  auto workers = pool(fake("segfault"));
  EXPECT_FALSE(workers->compile(source(1)).get());
}

TEST(Pool, ACandidateThatDoesNotCompileIsNotCompiledAgainToBeJudged) {
  auto workers = pool(fake("no-compile"));
  harness::Job failing = job();
  failing.candidate.text = source(1).text;
  auto verdict = workers->compile_and_judge(failing, {source(1)}, Freshness::kReuse);
  ASSERT_TRUE(verdict) << verdict.error().message;
  ASSERT_TRUE(verdict->failure);
  EXPECT_EQ(verdict->failure->kind, FailureKind::kCompile);
  EXPECT_EQ(verdict->stages.at("compile"), "FAIL");
}

TEST(Pool, AnIncumbentThatDoesNotCompileIsForTheHarnessToJudge) {
  auto workers = pool(fake("no-compile"));
  auto verdict = workers->compile_and_judge(job(), {source(1)}, Freshness::kReuse);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verdict->passed);
}

TEST(Pool, ACandidateIsJudgedWhileItsReferencesAreStillCompiled) {
  auto workers = pool(fake("no-end-of:kernel 2"));
  harness::Job compiled = job();
  compiled.candidate.text = source(1).text;
  auto verdict = workers->compile_and_judge(compiled, {source(1), source(2)}, Freshness::kReuse);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verdict->passed);
  workers.reset();  // and what has no end does not hold its end up
}

TEST(Pool, ACompileCountsOnceHoweverOftenItsCandidateIsJudged) {
  auto workers = pool(fake(""));
  harness::Job compiled = job();
  compiled.candidate.text = source(1).text;
  const auto first = workers->compile_and_judge(compiled, {source(1), source(2)}, Freshness::kReuse);
  const auto second = workers->compile_and_judge(compiled, {source(1), source(2)}, Freshness::kFresh);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->compile_s,
            0.5);  // what the fake says of each compile; the reference's is not the candidate's
  EXPECT_EQ(second->compile_s, 0);
}

TEST(Pool, EndingItWithWorkLeftDoesNotHang) {
  auto workers = pool(fake(""));
  for (int i = 0; i < 16; ++i) (void)workers->compile(source(i));
  workers.reset();
}

}  // namespace
}  // namespace ak::worker
