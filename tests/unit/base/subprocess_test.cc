#include "autokernel/base/subprocess.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "autokernel/base/file.h"

namespace ak {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

ProcessSpec shell(std::string script) { return {.argv = {"/bin/sh", "-c", std::move(script)}}; }

ProcessResult run(const ProcessSpec& spec) {
  auto result = run_process(spec);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.value_or(ProcessResult{});
}

/// A pid that a script has written has ended (or is a zombie that nobody has reaped yet).
bool has_ended(const std::string& pid) {
  const auto stat = read_file("/proc/" + pid + "/stat");
  return !stat || stat->find(") Z") != std::string::npos || stat->find(") X") != std::string::npos;
}

/// SIGKILL is sent when run_process returns; that it has been acted upon is a matter of moments.
bool ends_soon(const std::string& pid) {
  for (int i = 0; i < 10'000 && !has_ended(pid); ++i) std::this_thread::yield();
  return has_ended(pid);
}

TEST(RunProcess, OutputErrorAndExitCodeAreCaptured) {
  const ProcessResult result = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.signal, 0);
  EXPECT_FALSE(result.timed_out);
  EXPECT_FALSE(result.truncated);
}

TEST(RunProcess, ASignalIsToldFromAnExitCode) {
  const ProcessResult result = run(shell("kill -SEGV $$"));
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_EQ(result.signal, SIGSEGV);
}

TEST(RunProcess, InputIsFedAndEnded) {
  ProcessSpec spec{.argv = {"cat"}};
  spec.input = std::string(3'000'000, 'x') + "end";
  spec.output_cap_bytes = 10'000'000;
  EXPECT_EQ(run(spec).out, spec.input);
}

TEST(RunProcess, AProgramThatReadsNoInputDoesNotEndUs) {
  ProcessSpec spec = shell("exec 0<&-; echo done");
  spec.input = std::string(3'000'000, 'x');
  EXPECT_EQ(run(spec).out, "done\n");
}

TEST(RunProcess, WithoutInputTheStandardInputIsAtItsEnd) { EXPECT_EQ(run({.argv = {"cat"}}).exit_code, 0); }

TEST(RunProcess, OutputBeyondTheCapIsDroppedAndSaidSo) {
  ProcessSpec spec = shell("head -c 5000000 /dev/zero; echo few >&2");
  spec.output_cap_bytes = 1000;
  const ProcessResult result = run(spec);
  EXPECT_EQ(result.out.size(), 1000u);
  EXPECT_EQ(result.err, "few\n");
  EXPECT_TRUE(result.truncated);
  EXPECT_EQ(result.exit_code, 0);
}

TEST(RunProcess, AtTheDeadlineTheProgramAndItsGrandchildrenAreKilled) {
  ProcessSpec spec = shell("sleep 1000 & echo $!; sh -c 'echo $$; sleep 1000'; true");
  spec.deadline = 300ms;
  const ProcessResult result = run(spec);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  const std::size_t line = result.out.find('\n');
  ASSERT_NE(line, std::string::npos) << result.out;
  EXPECT_TRUE(ends_soon(result.out.substr(0, line)));
  EXPECT_TRUE(ends_soon(result.out.substr(line + 1, result.out.size() - line - 2)));
}

TEST(RunProcess, ABackgroundProcessNeitherHoldsUsUpNorSurvives) {
  ProcessSpec spec = shell("sleep 1000 & echo $!");
  spec.deadline = 100s;
  const ProcessResult result = run(spec);
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(ends_soon(result.out.substr(0, result.out.size() - 1)));
}

TEST(RunProcess, AProgramThatClosesItsStreamsIsWaitedFor) {
  EXPECT_EQ(run(shell("exec 1>&- 2>&- 0<&-; sleep 0.05; exit 4")).exit_code, 4);
}

TEST(RunProcess, AnUnknownProgramIsAnError) {
  const auto result = run_process({.argv = {"no-such-program-here"}});
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, StartsWith("cannot find the program 'no-such-program-here'"));
  EXPECT_EQ(result.error().code, ErrorCode::kEnvironment);
}

TEST(RunProcess, AnExecThatFailsIsAnErrorAndNoExitCode) {
  const TempDir folder = *TempDir::create("ak-test");
  const std::string program = (folder.path() / "broken").string();
  ASSERT_TRUE(write_file_atomic(program, "#!/no/such/interpreter\n").has_value());
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  const auto result = run_process({.argv = {program}});
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("No such file or directory"));
}

TEST(RunProcess, AMissingFolderIsAnErrorThatNamesIt) {
  ProcessSpec spec = shell("true");
  spec.directory = "/no/such/folder";
  EXPECT_EQ(run_process(spec).error().message,
            "cannot start /bin/sh in /no/such/folder: No such file or directory");
}

TEST(RunProcess, NoProgramOrAZeroByteIsAUsageError) {
  EXPECT_EQ(run_process({}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(run_process({.argv = {"echo", std::string("a\0b", 3)}}).error().code, ErrorCode::kUsage);
}

TEST(RunProcess, TheFolderAndTheEnvironmentAreTheGivenOnes) {
  ProcessSpec spec = shell("pwd; echo $ONLY; echo ${HOME-unset}");
  spec.directory = "/usr";
  spec.environment = std::vector<std::string>{"ONLY=this"};
  EXPECT_EQ(run(spec).out, "/usr\nthis\nunset\n");
}

TEST(RunProcess, TheChildLeadsAGroupOfItsOwnAndDumpsNoCore) {
  const ProcessResult result = run(shell("ulimit -c; echo $$; ps -o pgid= -p $$ 2>/dev/null || echo $$"));
  std::string text = result.out;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::string pid = text.substr(2, text.find('\n', 2) - 2);
  EXPECT_EQ(text, "0\n" + pid + "\n" + pid + "\n");
}

TEST(RunProcess, ThreeLimitsReachTheProgram) {
  ProcessSpec spec = shell("ulimit -v; ulimit -t; ulimit -f");
  spec.memory_limit_bytes = 512u << 20;
  spec.cpu_limit_s = 7;
  spec.file_limit_bytes = 1024 * 1024;
  EXPECT_EQ(run(spec).out, "524288\n7\n2048\n");
}

TEST(RunProcess, TheMemoryLimitIsEnforced) {
  ProcessSpec spec = shell("x=0123456789abcdef; while true; do x=$x$x; done");
  spec.memory_limit_bytes = 64u << 20;
  const ProcessResult result = run(spec);
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.exit_code, 0);
}

TEST(RunProcess, DescriptorsArriveAsThreeAndFourWhateverTheirNumbersWere) {
  UniqueFd a(::memfd_create("a", MFD_CLOEXEC)), b(::memfd_create("b", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(a.get(), "A", 1, 0), 1);
  ASSERT_EQ(::pwrite(b.get(), "B", 1, 0), 1);
  // The second at the number of the first's target and the other way round, if these numbers are free.
  const int low_b = ::fcntl(b.get(), F_DUPFD_CLOEXEC, 3), low_a = ::fcntl(a.get(), F_DUPFD_CLOEXEC, 4);
  ProcessSpec spec = shell("cat /dev/fd/3; cat /dev/fd/4; test -e /dev/fd/5 || echo .");
  spec.extra_fds = {low_a, low_b};
  EXPECT_EQ(run(spec).out, "AB.\n");
  ::close(low_a);
  ::close(low_b);
}

TEST(RunProcess, NoOtherDescriptorReachesTheProgram) {
  const int leak = ::open("/dev/null", O_RDONLY);  // not close-on-exec
  ASSERT_GE(leak, 0);
  EXPECT_EQ(
      run(shell("for f in /proc/self/fd/*; do case ${f##*/} in 0|1|2) ;; *) readlink $f; esac; done")).out,
      "");
  ::close(leak);
}

TEST(RunProcess, IgnoredSigpipeAndABlockedMaskAreNotInherited) {
  const auto old = ::signal(SIGPIPE, SIG_IGN);
  sigset_t term, before;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &before);
  const ProcessResult result = run({.argv = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}});
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGPIPE, old);
  EXPECT_THAT(result.out, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(result.out, testing::Not(testing::ContainsRegex("SigIgn:\t[0-9a-f]{12}[13579bdf]")));
}

TEST(RunProcess, ADeadlineOfZeroEndsItAtOnceAndAHugeOneDoesNotOverflow) {
  ProcessSpec spec = shell("sleep 1000");
  spec.deadline = 0ms;
  EXPECT_TRUE(run(spec).timed_out);
  spec = shell("exit 0");
  spec.deadline = std::chrono::milliseconds::max();
  EXPECT_EQ(run(spec).exit_code, 0);
}

TEST(RunProcess, ManyThreadsMayStartProcessesWhileOthersAllocate) {
  std::atomic<bool> stop = false;
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) std::vector<std::string>(100, std::string(100, 'x'));
    });
  }
  std::vector<std::thread> starters;
  for (int t = 0; t < 4; ++t) {
    starters.emplace_back([&] {
      for (int i = 0; i < 10; ++i) good += run(shell("echo ok")).out == "ok\n";
    });
  }
  for (auto& thread : starters) thread.join();
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 40);
}

TEST(ChildProcess, SpeaksOverItsStreams) {
  auto child = ChildProcess::start({.argv = {"cat"}});
  ASSERT_TRUE(child.has_value()) << child.error().message;
  ASSERT_EQ(::write(child->in(), "ping", 4), 4);
  char text[4];
  ASSERT_EQ(::read(child->out(), text, 4), 4);
  EXPECT_EQ(std::string(text, 4), "ping");
  EXPECT_FALSE(child->poll().has_value());
  child->close_in();
  const auto status = child->wait_for(60s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->exit_code, 0);
  EXPECT_EQ(child->poll()->exit_code, 0);  // and it stays so
}

TEST(Exchange, QuestionsAndAnswersTakeTurnsWithAChildThatStays) {
  auto child = ChildProcess::start({.argv = {"cat"}});
  ASSERT_TRUE(child.has_value());
  for (const std::string& question :
       {std::string("short"), std::string(1 << 20, 'x'), std::string("again")}) {
    const ProcessResult answer = exchange(
        *child, question, 60s, 1u << 24, [&](std::string_view out) { return out.size() >= question.size(); });
    EXPECT_EQ(answer.out, question);
    EXPECT_EQ(answer.exit_code, -1);
    EXPECT_EQ(answer.signal, 0);
  }
  EXPECT_FALSE(child->poll().has_value());
}

TEST(Exchange, AChildThatEndsInsteadSaysHow) {
  auto child = ChildProcess::start(shell("read line; echo half; echo why >&2; exit 3"));
  ASSERT_TRUE(child.has_value());
  const ProcessResult answer =
      exchange(*child, "go\n", 60s, 1u << 20, [](std::string_view) { return false; });
  EXPECT_EQ(answer.out, "half\n");
  EXPECT_EQ(answer.err, "why\n");
  EXPECT_EQ(answer.exit_code, 3);
}

TEST(Exchange, AtTheDeadlineTheChildIsKilled) {
  auto child = ChildProcess::start({.argv = {"cat"}});
  ASSERT_TRUE(child.has_value());
  EXPECT_TRUE(exchange(*child, "go", 10ms, 1u << 20, [](std::string_view) { return false; }).timed_out);
  EXPECT_EQ(child->poll()->signal, SIGKILL);
}

TEST(ChildProcess, AWaitEndsAtItsDeadline) {
  auto child = ChildProcess::start({.argv = {"cat"}});
  ASSERT_TRUE(child.has_value());
  EXPECT_FALSE(child->wait_for(0ms).has_value());
  EXPECT_FALSE(child->wait_for(-5ms).has_value());
  child->kill_group();
  EXPECT_EQ(child->wait_for(60s)->signal, SIGKILL);
  child->kill_group();  // nothing is left; nobody else is hit
}

TEST(ChildProcess, IsKilledWithItsObjectAlsoAfterAMove) {
  std::string pid;
  {
    auto child = ChildProcess::start({.argv = {"cat"}});
    ASSERT_TRUE(child.has_value());
    pid = std::to_string(child->pid());
    ChildProcess moved = std::move(*child);
    EXPECT_FALSE(has_ended(pid));
  }
  EXPECT_TRUE(has_ended(pid));
}

TEST(ChildProcess, DiesWithItsParent) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto child = ChildProcess::start({.argv = {"cat"}});
    const std::string pid = child ? std::to_string(child->pid()) : "";
    (void)!::write(pipe[1], pid.data(), pid.size());
    ::kill(::getpid(), SIGKILL);
  }
  ::close(pipe[1]);
  ::waitpid(parent, nullptr, 0);
  char text[32];
  const ssize_t got = ::read(pipe[0], text, sizeof text);
  ::close(pipe[0]);
  ASSERT_GT(got, 0);
  EXPECT_TRUE(ends_soon(std::string(text, static_cast<std::size_t>(got))));
}

TEST(ExitStatus, IsDescribedInWords) {
  EXPECT_EQ((ExitStatus{3, 0}).describe(), "exit code 3");
  EXPECT_EQ((ExitStatus{-1, SIGSEGV}).describe(), "killed by SIGSEGV");
  EXPECT_EQ((ExitStatus{-1, SIGRTMIN + 3}).describe(), "killed by signal " + std::to_string(SIGRTMIN + 3));
  EXPECT_EQ(ExitStatus{}.describe(), "ended, nobody knows how");
}

}  // namespace
}  // namespace ak
