#include "autokernel/device/cuda/nvrtc_process.h"

#include <gtest/gtest.h>

#include <csignal>

namespace ak::cuda {
namespace {

/// Answers each line with a message that holds its process id and the number of the line.
constexpr const char* kServes =
    "n=0; while read -r job; do n=$((n + 1)); text=\"$$ $n\"; printf 'AKNVRTC2 %d\\n%s' ${#text} \"$text\"; "
    "done";

NvrtcProcess process(const std::string& script,
                     std::chrono::milliseconds deadline = std::chrono::seconds(60)) {
  ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", script};
  spec.deadline = deadline;
  return NvrtcProcess(std::move(spec));
}

ProcessResult ask(NvrtcProcess& process) {
  auto done = process.ask("job\n");
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return done ? std::move(*done) : ProcessResult{};
}

pid_t pid_of(const std::string& answer) { return std::stoi(answer.substr(answer.find('\n') + 1)); }

TEST(NvrtcProcess, ServesManyJobs) {
  NvrtcProcess serving = process(kServes);
  const std::string first = ask(serving).out;
  const std::string second = ask(serving).out;
  EXPECT_EQ(pid_of(first), pid_of(second));
  EXPECT_TRUE(first.ends_with(" 1") && second.ends_with(" 2")) << first << second;
}

TEST(NvrtcProcess, OneThatWasEndedBetweenJobsIsReplaced) {
  NvrtcProcess serving = process(kServes);
  const pid_t pid = pid_of(ask(serving).out);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  const ProcessResult next = ask(serving);
  EXPECT_EQ(next.signal, 0);
  EXPECT_NE(pid_of(next.out), pid);
}

TEST(NvrtcProcess, AJobThatEndsItIsAskedAgainOnceAndThenAnswered) {
  NvrtcProcess ending = process("read -r job; printf 'AKNVRTC2 1\\n1'; read -r job; kill -SEGV $$");
  EXPECT_EQ(ask(ending).out, "AKNVRTC2 1\n1");
  EXPECT_EQ(ask(ending).out, "AKNVRTC2 1\n1");  // of the second process
  NvrtcProcess at_once = process("read -r job; kill -SEGV $$");
  EXPECT_EQ(ask(at_once).signal, SIGSEGV);
}

TEST(NvrtcProcess, AfterADeadlineTheNextJobMeetsANewOne) {
  NvrtcProcess slow =
      process("read -r job; printf 'AKNVRTC2 1\\n1'; read -r job; sleep 100", std::chrono::milliseconds(500));
  EXPECT_FALSE(ask(slow).timed_out);
  EXPECT_TRUE(ask(slow).timed_out);
  EXPECT_FALSE(ask(slow).timed_out);
}

TEST(NvrtcProcess, OneThatCannotBeStartedIsAnError) {
  NvrtcProcess missing({.argv = {"/nowhere/autokernel"}});
  EXPECT_FALSE(missing.ask("job").has_value());
}

}  // namespace
}  // namespace ak::cuda
