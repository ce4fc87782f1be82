#include "autokernel/worker/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

namespace ak::worker {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kDeadline{20'000};

Result<std::unique_ptr<Client>> start(const std::string& mode) {
  std::signal(SIGPIPE, SIG_IGN);
  return Client::start({AK_FAKE_RUNNER, "--supervise", mode}, {});
}

harness::Job job() {
  harness::Job out;
  out.target = {.id = "t", .op = "op", .problems = {}};
  out.candidate = {"k.cu", std::string(2000, ' '), {}};
  return out;
}

TEST(Client, ShakesHands) {
  auto client = start("");
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ((*client)->hello().autokernel, "fake");
  EXPECT_TRUE((*client)->alive());
}

TEST(Client, AWorkerOfAnotherProtocolIsRefused) {
  auto client = start("version");
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("same autokernel on both sides"));
}

TEST(Client, AWorkerThatSaysSomethingElseFirstIsSkippedUntilItsHello) {
  auto client =
      Client::start({"/bin/sh", "-c", "echo 'motd AKF'; exec \"$0\" --supervise ''", AK_FAKE_RUNNER}, {});
  ASSERT_TRUE(client) << client.error().message;
}

TEST(Client, AWorkerThatEndsAtOnceIsAnErrorWithWhatItSaid) {
  std::signal(SIGPIPE, SIG_IGN);
  for (const char* script :
       {"echo 'ssh: no route' >&2; exit 255", "head -c 4; echo 'ssh: no route' >&2; exit 255"}) {
    auto client = Client::start({"/bin/sh", "-c", script}, {});
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, ErrorCode::kEnvironment);
    EXPECT_THAT(client.error().message, HasSubstr("no route")) << script;
  }
}

TEST(Client, AProgramThatDoesNotExistIsAnError) {
  auto client = Client::start({"/nonexistent/autokernel", "worker"}, {});
  ASSERT_FALSE(client);
}

TEST(Client, AVerdictComesBack) {
  auto client = start("");
  ASSERT_TRUE(client);
  auto verdict = (*client)->judge(job(), Freshness::kReuse, kDeadline);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_TRUE(verdict->passed);
  EXPECT_EQ(Json::parse(verdict->flags[1])["job"]["candidate"]["text"], std::string(2000, ' '));
}

TEST(Client, AnEditedTextIsSentOnceForManyRequests) {
  auto client = start("");
  ASSERT_TRUE(client);
  for (int i = 0; i < 3; ++i) {
    auto verdict = (*client)->judge(job(), Freshness::kFresh, kDeadline);
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_EQ(Json::parse(verdict->flags[1])["job"]["candidate"]["text"], std::string(2000, ' '));
  }
}

TEST(Client, FreshMeansAnotherProcess) {
  auto client = start("");
  ASSERT_TRUE(client);
  auto pid = [&](Freshness freshness) { return (*client)->judge(job(), freshness, kDeadline)->flags.at(0); };
  const std::string first = pid(Freshness::kReuse);
  EXPECT_EQ(pid(Freshness::kReuse), first);
  EXPECT_NE(pid(Freshness::kFresh), first);
}

TEST(Client, ACompileComesBack) {
  auto client = start("");
  ASSERT_TRUE(client);
  auto answer = (*client)->compile(Source{}, kDeadline);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->seconds, 0.5);
  EXPECT_FALSE(answer->failure);
}

TEST(Client, ARunnerThatDiesIsAVerdictAndTheWorkerLives) {
  auto client = start("segfault");
  ASSERT_TRUE(client);
  auto verdict = (*client)->judge(job(), Freshness::kReuse, kDeadline);
  ASSERT_TRUE(verdict) << verdict.error().message;
  EXPECT_FALSE(verdict->passed);
  EXPECT_TRUE((*client)->alive());
}

TEST(Client, ADeadSupervisorIsAnErrorAndTheClientIsNotAlive) {
  auto client = start("kill-supervisor");
  ASSERT_TRUE(client);
  auto verdict = (*client)->judge(job(), Freshness::kReuse, kDeadline);
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, ErrorCode::kEnvironment);
  EXPECT_FALSE((*client)->alive());
}

TEST(Client, MuchOnTheWorkersStandardErrorBlocksNothing) {
  auto client = start("noisy");
  ASSERT_TRUE(client);
  for (int i = 0; i < 3; ++i) {
    auto verdict = (*client)->judge(job(), Freshness::kReuse, kDeadline);
    ASSERT_TRUE(verdict) << verdict.error().message;
    EXPECT_TRUE(verdict->passed);
  }
}

}  // namespace
}  // namespace ak::worker
