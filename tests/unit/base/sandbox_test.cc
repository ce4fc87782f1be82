#include "autokernel/base/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <thread>

#include "autokernel/base/file.h"
#include "autokernel/base/subprocess.h"

namespace ak {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(SandboxSupport, SaysWhatIsMissing) {
  EXPECT_EQ((SandboxSupport{7, true}).missing(), "");
  EXPECT_TRUE((SandboxSupport{7, true}).complete());
  EXPECT_EQ((SandboxSupport{0, true}).missing(), "Landlock (kernel 5.13 or later)");
  EXPECT_FALSE((SandboxSupport{7, false}).complete());
  EXPECT_THAT((SandboxSupport{0, false}).missing(), HasSubstr(" and seccomp"));
}

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const SandboxSupport support = sandbox_support(); !support.complete()) {
      GTEST_SKIP() << "this kernel has no " << support.missing();
    }
    ASSERT_TRUE(write_file_atomic(outside_.path() / "secret", "secret").has_value());
    ASSERT_TRUE(write_file_atomic(inside_.path() / "given", "given").has_value());
  }

  /// The system's programs may be read and run, `inside_` may be written; nothing else.
  ProcessSpec shell(std::string script) const {
    ProcessSpec spec{.argv = {"/bin/sh", "-c", std::move(script)}};
    spec.directory = inside_.path();
    spec.sandbox =
        Sandbox{.read_only = {"/bin", "/usr", "/lib", "/lib64", "/no/such/folder", "/etc/ld.so.cache"},
                .read_write = {inside_.path(), "/dev/null"}};
    return spec;
  }
  ProcessResult run(const ProcessSpec& spec) const {
    auto result = run_process(spec);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result.value_or(ProcessResult{});
  }

  /// Exit code of `body` in a forked child inside the given sandbox; -1 when it died of a signal.
  template <class Body>
  int in_sandbox(const Sandbox& sandbox, Body body) const {
    const auto prepared = PreparedSandbox::prepare(sandbox);
    EXPECT_TRUE(prepared.has_value()) << prepared.error().message;
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (prepared->enter() != 0) ::_exit(100);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TempDir outside_ = *TempDir::create("ak-outside");
  TempDir inside_ = *TempDir::create("ak-inside");
};

TEST_F(SandboxTest, AListedFolderIsReadAndWritten) {
  const ProcessResult result =
      run(shell("cat given; echo new > made; mkdir d && mv made d/ && cat d/made && rm -r d"));
  EXPECT_EQ(result.out, "givennew\n") << result.err;
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(SandboxTest, AFileOutsideTheListIsNotRead) {
  const ProcessResult result = run(shell("cat " + (outside_.path() / "secret").string()));
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("Permission denied"));
  EXPECT_NE(result.exit_code, 0);
}

TEST_F(SandboxTest, NeitherALinkNorProcLeadsOut) {
  const std::string secret = (outside_.path() / "secret").string();
  const ProcessResult result =
      run(shell("ln -s " + secret + " link; cat link; cat /proc/self/environ; cat /etc/passwd; ls /"));
  EXPECT_EQ(result.out, "");
}

TEST_F(SandboxTest, AFileOutsideTheListIsNeitherWrittenNorRemoved) {
  const std::string secret = (outside_.path() / "secret").string();
  run(shell("echo forged > " + secret + "; rm -f " + secret + "; echo x > /usr/forged; truncate -s 0 " +
            secret));
  EXPECT_EQ(*read_file(outside_.path() / "secret"), "secret");
  EXPECT_FALSE(std::filesystem::exists("/usr/forged"));
}

TEST_F(SandboxTest, WhatItWroteIsNotExecuted) {
  const ProcessResult result = run(shell("cp /bin/echo mine && ./mine hello"));
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.exit_code, 126);
}

TEST_F(SandboxTest, AProgramThatIsNotListedDoesNotStart) {
  ProcessSpec spec = shell("true");
  spec.sandbox->read_only.clear();
  const auto result = run_process(spec);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, HasSubstr("Permission denied (does its sandbox allow it?)"));
}

TEST_F(SandboxTest, AMissingFolderToWriteToIsAnError) {
  const auto prepared = PreparedSandbox::prepare({.read_only = {}, .read_write = {"/no/such/folder"}});
  ASSERT_FALSE(prepared.has_value());
  EXPECT_THAT(prepared.error().message, HasSubstr("/no/such/folder"));
}

TEST_F(SandboxTest, NoSocketOpensButAPairDoes) {
  const Sandbox sandbox{};
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}) {
    EXPECT_EQ(in_sandbox(sandbox, [&] { return ::socket(family, SOCK_DGRAM, 0) < 0 ? errno : 0; }), EPERM)
        << family;
  }
  EXPECT_EQ(in_sandbox(sandbox,
                       [] {
                         int pair[2];
                         return ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
                       }),
            0);
}

TEST_F(SandboxTest, TheNetworkStaysWhereItIsNotDenied) {
  Sandbox sandbox{};
  sandbox.deny_network = false;
  EXPECT_EQ(in_sandbox(sandbox, [] { return ::socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0; }), 0);
}

TEST_F(SandboxTest, ProcessControlIsDenied) {
  for (const long number : {SYS_ptrace,
                            SYS_process_vm_readv,
                            SYS_process_vm_writev,
                            SYS_bpf,
                            SYS_keyctl,
                            SYS_mount,
                            SYS_unshare,
                            SYS_setns,
                            SYS_kexec_load,
                            SYS_init_module,
                            SYS_finit_module,
                            SYS_perf_event_open,
                            SYS_userfaultfd,
                            SYS_io_uring_setup,
                            SYS_setsid,
                            SYS_setpgid,
                            SYS_chroot,
                            SYS_pivot_root,
                            SYS_add_key,
                            SYS_open_by_handle_at,
                            SYS_reboot}) {
    EXPECT_EQ(in_sandbox({}, [&] { return ::syscall(number, 0, 0, 0, 0, 0) < 0 ? errno : 0; }), EPERM)
        << number;
  }
}

TEST_F(SandboxTest, NoNamespaceIsMadeThroughClone) {
  EXPECT_EQ(in_sandbox({},
                       [] {
                         const long pid = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
                         if (pid == 0) ::_exit(0);
                         return pid < 0 ? errno : 0;
                       }),
            EPERM);
  EXPECT_EQ(in_sandbox({}, [] { return ::syscall(SYS_clone3, nullptr, 0) < 0 ? errno : 0; }), ENOSYS);
}

TEST_F(SandboxTest, ThreadsAndChildrenStayPossible) {
  EXPECT_EQ(in_sandbox({},
                       [] {
                         int value = 0;
                         std::thread([&] { value = 42; }).join();
                         return value;
                       }),
            42);
  EXPECT_EQ(run(shell("(echo child)")).out, "child\n");
}

TEST_F(SandboxTest, AProcessOutsideIsNotSignalled) {
  if (sandbox_support().landlock_abi < 6)
    GTEST_SKIP() << "signals are scoped from Landlock ABI 6 (Linux 6.12) on";
  EXPECT_EQ(in_sandbox({}, [] { return ::kill(::getppid(), 0) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(in_sandbox({}, [] { return ::kill(::getpid(), 0) < 0 ? errno : 0; }), 0);
}

TEST_F(SandboxTest, ARootLosesItsPowers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only a root has powers to lose";
  // CAP_SYS_NICE, CAP_SETUID, CAP_CHOWN.
  EXPECT_EQ(in_sandbox({}, [] { return ::syscall(SYS_setuid, 12345) < 0 ? errno : 0; }), EPERM);
  const ProcessResult result = run(shell("chown 12345 given"));
  EXPECT_NE(result.exit_code, 0);
}

TEST_F(SandboxTest, ItHoldsForGrandchildren) {
  const ProcessResult result =
      run(shell("sh -c 'sh -c \"cat " + (outside_.path() / "secret").string() + "\"'"));
  EXPECT_EQ(result.out, "");
}

TEST_F(SandboxTest, ItIsKilledAtItsDeadlineTogetherWithWhatTriesToLeaveTheGroup) {
  ProcessSpec spec = shell("setsid sleep 1000 & sleep 1000 & echo $!; wait");
  spec.deadline = 300ms;
  const ProcessResult result = run(spec);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_THAT(result.err, HasSubstr("setsid"));  // refused
  const std::string stat = "/proc/" + result.out.substr(0, result.out.find('\n')) + "/stat";
  const auto gone = [&] {
    const auto text = read_file(stat);
    return !text || text->find(") Z") != std::string::npos;
  };
  for (int i = 0; i < 10'000 && !gone(); ++i) std::this_thread::yield();
  EXPECT_TRUE(gone());
}

TEST_F(SandboxTest, ItsOutputIsCapped) {
  ProcessSpec spec = shell("head -c 100000 /usr/bin/env; true");
  spec.output_cap_bytes = 500;
  const ProcessResult result = run(spec);
  EXPECT_EQ(result.out.size(), 500u);
  EXPECT_TRUE(result.truncated);
}

}  // namespace
}  // namespace ak
