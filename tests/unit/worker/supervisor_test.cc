#include "autokernel/worker/supervisor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "autokernel/base/hash.h"
#include "autokernel/base/unique_fd.h"
#include "autokernel/core/verdict.h"
#include "autokernel/worker/frame.h"
#include "autokernel/worker/protocol.h"

namespace ak::worker {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// A supervisor on a thread of this process, over pipes, with the fake runner in one of its modes.
class SupervisorTest : public testing::Test {
 protected:
  void start(std::vector<std::string> runner, milliseconds deadline = milliseconds(20'000)) {
    std::array<int, 2> requests{}, answers{};
    ASSERT_EQ(::pipe2(requests.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(answers.data(), O_CLOEXEC), 0);
    to_ = UniqueFd(requests[1]);
    from_ = UniqueFd(answers[0]);
    options_ = {std::move(runner), deadline};
    thread_ = std::jthread([this, in = requests[0], out = answers[1]] {
      exit_code_ = run_supervisor(options_, in, out);
      ::close(in);
      ::close(out);
    });
  }
  void start_fake(const std::string& mode, milliseconds deadline = milliseconds(20'000)) {
    start({AK_FAKE_RUNNER, mode}, deadline);
  }
  void TearDown() override { to_.reset(); }  // ends the supervisor, before the thread is joined

  void send(const Json& request) { ASSERT_TRUE(write_message(to_.get(), request)); }
  Json receive() {
    Result<ReadOutcome> read = read_message(from_.get(), reader_, milliseconds(30'000));
    if (!read || read->end != ReadEnd::kMessage) {
      ADD_FAILURE() << "no answer";
      return {};
    }
    return Json::parse(read->message);
  }
  Json ask(const Json& request) {
    send(request);
    return receive();
  }
  Json hello() { return ask(hello_request({})); }
  static Json judge() { return {{"type", "judge"}, {"job", {{"n", 1}}}}; }
  Verdict ask_verdict(const Json& request) {
    Json answer = ask(request);
    EXPECT_EQ(answer.value("type", ""), "verdict") << answer.dump();
    Result<Verdict> verdict = verdict_from_json(answer["verdict"], "verdict");
    EXPECT_TRUE(verdict) << answer.dump();
    return verdict ? *verdict : Verdict{};
  }
  int runner_pid() {
    Verdict verdict = ask_verdict(judge());
    return verdict.flags.empty() ? -1 : std::stoi(verdict.flags[0]);
  }
  int end() {
    to_.reset();
    thread_.join();
    return exit_code_;
  }

  UniqueFd to_, from_;
  FrameReader reader_;
  SupervisorOptions options_;
  int exit_code_ = -1;
  std::jthread thread_;
};

void expect_failure(const Verdict& verdict, FailureKind kind, const char* message) {
  EXPECT_FALSE(verdict.passed);
  ASSERT_TRUE(verdict.failure);
  EXPECT_EQ(verdict.failure->kind, kind) << verdict.failure->message;
  EXPECT_EQ(verdict.failure->check, "fault");
  EXPECT_THAT(verdict.failure->message, HasSubstr(message));
}

TEST_F(SupervisorTest, AnswersAHelloWithTheRunners) {
  start_fake("");
  Result<Hello> read = hello_from_json(hello());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->autokernel, "fake");
}

TEST_F(SupervisorTest, KeepsOneRunnerForManyRequests) {
  start_fake("");
  hello();
  int first = runner_pid();
  EXPECT_EQ(runner_pid(), first);
}

TEST_F(SupervisorTest, SkipsABannerOfTheRunner) {
  start_fake("banner");
  EXPECT_TRUE(hello_from_json(hello()));
}

TEST_F(SupervisorTest, EndOfFileEndsItAndItsRunner) {
  start_fake("");
  hello();
  int pid = runner_pid();
  EXPECT_EQ(end(), 0);
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(SupervisorTest, EndOfFileEndsARunnerThatHangs) {
  start_fake("hang", milliseconds(600'000));
  hello();
  send(judge());
  EXPECT_EQ(end(), 0);
}

TEST_F(SupervisorTest, ARunnerThatDiesOfASignalIsAVerdictThatNamesIt) {
  start_fake("segfault");
  hello();
  expect_failure(ask_verdict(judge()), FailureKind::kInfrastructure, "SIGSEGV");
}

TEST_F(SupervisorTest, ARunnerThatExitsIsAVerdictWithItsExitCode) {
  start_fake("exit");
  hello();
  expect_failure(ask_verdict(judge()), FailureKind::kInfrastructure, "exit code 5");
}

TEST_F(SupervisorTest, ARunnerThatHangsBeyondTheDeadlineIsATimeout) {
  start_fake("hang", milliseconds(100));
  hello();
  expect_failure(ask_verdict(judge()), FailureKind::kTimeout, "deadline");
}

TEST_F(SupervisorTest, TheDeadlineOfTheRequestCountsBeforeItsOwn) {
  start_fake("hang", milliseconds(600'000));
  hello();
  Json request = judge();
  request["deadline_s"] = 0.1;
  expect_failure(ask_verdict(request), FailureKind::kTimeout, "deadline");
}

TEST_F(SupervisorTest, AbsurdDeadlinesDoNoHarm) {
  start_fake("");
  hello();
  for (const char* deadline : {"1e300", "99999999999", "\"soon\"", "null"}) {
    Json request = judge();
    request["deadline_s"] = Json::parse(deadline);
    EXPECT_TRUE(ask_verdict(request).passed) << deadline;
  }
}

TEST_F(SupervisorTest, EndlessRubbishOfTheRunnerIsATimeout) {
  start_fake("rubbish", milliseconds(200));
  hello();
  expect_failure(ask_verdict(judge()), FailureKind::kTimeout, "deadline");
}

TEST_F(SupervisorTest, AnOversizedFrameOfTheRunnerIsAnInfrastructureFailure) {
  start_fake("oversized");
  hello();
  expect_failure(ask_verdict(judge()), FailureKind::kInfrastructure, "exceeds the limit");
}

TEST_F(SupervisorTest, AnAnswerThatIsNoJsonIsAnError) {
  start_fake("no-json");
  hello();
  EXPECT_EQ(ask(judge())["type"], "error");
}

TEST_F(SupervisorTest, AnAnswerThatIsNoObjectIsAnErrorForTheParent) {
  start_fake("list");
  hello();
  Json answer = ask(judge());
  EXPECT_TRUE(answer.is_object() && answer["type"] == "error") << answer.dump();
}

TEST_F(SupervisorTest, AFieldOfTheWrongTypeInAnAnswerCostsTheRunnerOnly) {
  start_fake("usable-text");
  hello();
  EXPECT_TRUE(ask(judge()).is_object());
  EXPECT_TRUE(ask(judge()).is_object());
}

TEST_F(SupervisorTest, ANewRunnerServesAfterOneThatDied) {
  start_fake("segfault");
  hello();
  for (int i = 0; i < 3; ++i) expect_failure(ask_verdict(judge()), FailureKind::kInfrastructure, "SIGSEGV");
}

TEST_F(SupervisorTest, ARunnerThatCallsItselfUnusableIsReplaced) {
  start_fake("unusable");
  hello();
  int first = runner_pid();
  EXPECT_NE(runner_pid(), first);
}

TEST_F(SupervisorTest, FreshReplacesTheRunnerWithoutAnAnswer) {
  start_fake("");
  hello();
  int first = runner_pid();
  send({{"type", "fresh"}});
  EXPECT_NE(runner_pid(), first);
}

TEST_F(SupervisorTest, ManyLinesOnTheRunnersStandardErrorDoNotBlockIt) {
  start_fake("noisy", milliseconds(10'000));
  hello();
  testing::internal::CaptureStderr();
  Verdict verdict = ask_verdict(judge());
  EXPECT_TRUE(verdict.passed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("nnnn"));
}

TEST_F(SupervisorTest, ARunnerThatDoesNotStartIsAnErrorThatSaysHowItEnded) {
  start_fake("hello-exit");
  Json answer = hello();
  EXPECT_EQ(answer["type"], "error");
  EXPECT_THAT(answer["message"].get<std::string>(), HasSubstr("exit code 7"));
}

TEST_F(SupervisorTest, TheRunnersOwnErrorAtStartReachesTheParent) {
  start_fake("hello-error");
  Json answer = hello();
  EXPECT_EQ(answer["code"], "environment");
  EXPECT_EQ(answer["message"], "no such device here");
}

TEST_F(SupervisorTest, AHelloAnswerThatIsNoObjectIsAnError) {
  start_fake("hello-list");
  EXPECT_EQ(hello()["type"], "error");
}

TEST_F(SupervisorTest, AHelloAnswerWithATypeThatIsNoTextIsAnError) {
  start_fake("hello-number");
  EXPECT_EQ(hello()["type"], "error");
}

TEST_F(SupervisorTest, ACommandThatDoesNotExistIsAnError) {
  start({"/nonexistent/runner"});
  EXPECT_EQ(hello()["type"], "error");
}

TEST_F(SupervisorTest, RequestsOfTheWrongShapeAreErrorsAndTheNextOneIsServed) {
  start_fake("");
  hello();
  for (const char* text :
       {"[1]", "null", "7", R"({"type":5})", R"({"type":"text","hash":1,"text":2})",
        R"({"type":"judge","job":{"text_hash":"unknown"}})", R"({"type":"judge","text_hash":[]})"}) {
    send(Json::parse(text));
    send(judge());
    // An error or an answer of the runner comes for the first; the second is a verdict in any case.
    Json first = receive();
    if (first["type"] == "verdict" && first["verdict"]["flags"][1] == judge().dump()) continue;
    Json second = receive();
    EXPECT_EQ(second["type"], "verdict") << text;
  }
}

TEST_F(SupervisorTest, ATextThatDoesNotMatchItsHashIsRefused) {
  start_fake("");
  hello();
  Json answer = ask({{"type", "text"}, {"hash", "00"}, {"text", "x"}});
  EXPECT_EQ(answer["type"], "error");
}

TEST_F(SupervisorTest, TextsAreKeptAndPutIntoLaterRequestsAlsoForNewRunners) {
  start_fake("unusable");
  hello();
  const std::string text(500, 't');
  send({{"type", "text"}, {"hash", content_hash(text)}, {"text", text}});
  for (int i = 0; i < 2; ++i) {
    Verdict verdict = ask_verdict({{"type", "judge"}, {"job", {{"text_hash", content_hash(text)}}}});
    ASSERT_EQ(verdict.flags.size(), 2u);
    EXPECT_EQ(Json::parse(verdict.flags[1])["job"]["text"], text);
  }
}

TEST_F(SupervisorTest, FamilyFilesSentByHashReachTheRunnerThatStartsLater) {
  start_fake("");
  const std::string text(500, 'f');
  std::map<std::string, std::string> sent;
  Json request = hello_request({{"mine", {{"text", text}}}});  // a file that is called "text"
  take_texts(request, sent);
  for (const auto& [hash, value] : sent) send({{"type", "text"}, {"hash", hash}, {"text", value}});
  EXPECT_EQ(ask(request)["type"], "hello");
  send({{"type", "fresh"}});
  EXPECT_EQ(ask_verdict(judge()).passed, true);
}

TEST_F(SupervisorTest, ACompileThatKillsTheRunnerIsAnErrorNotAVerdict) {
  start_fake("segfault");
  hello();
  Json answer = ask({{"type", "compile"}, {"source", {{"n", 1}}}});
  EXPECT_EQ(answer["type"], "error");
  EXPECT_EQ(answer["code"], "environment");
}

}  // namespace
}  // namespace ak::worker
