#include "autokernel/base/subprocess.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "autokernel/base/spawn.h"

namespace ak {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

ExitStatus status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {info.si_status, 0};
  return {-1, info.si_status};
}

}  // namespace

std::string ExitStatus::describe() const {
  if (signal == 0) return exit_code < 0 ? "ended, nobody knows how" : fmt::format("exit code {}", exit_code);
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("killed by signal {}", signal) : fmt::format("killed by SIG{}", name);
}

Result<ChildProcess> ChildProcess::start(const ProcessSpec& spec) {
  AK_TRY(spawned, spawn(spec));
  ChildProcess child;
  child.pid_ = spawned.pid;
  child.in_ = std::move(spawned.in);
  child.out_ = std::move(spawned.out);
  child.err_ = std::move(spawned.err);
  child.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, spawned.pid, 0)));
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      pidfd_(std::move(other.pidfd_)),
      ended_(other.ended_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  if (pid_ > 0) reap();
  pid_ = std::exchange(other.pid_, -1);
  in_ = std::move(other.in_);
  out_ = std::move(other.out_);
  err_ = std::move(other.err_);
  pidfd_ = std::move(other.pidfd_);
  ended_ = other.ended_;
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) reap();
}

void ChildProcess::reap() {
  if (ended_) return;
  kill_group();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ended_ = ExitStatus{-1, SIGKILL};
}

void ChildProcess::kill_group() {
  // Not after the child has been reaped: its number may belong to others by then.
  if (pid_ > 0 && !ended_) ::kill(-pid_, SIGKILL);
}

std::optional<ExitStatus> ChildProcess::poll() {
  if (ended_ || pid_ <= 0) return ended_;
  siginfo_t info{};
  int waited = 0;
  do {
    waited = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (waited != 0 && errno == EINTR);
  if (waited != 0) {  // ECHILD: the program ignores SIGCHLD, so the kernel has reaped it
    ended_ = ExitStatus{};
    return ended_;
  }
  if (info.si_pid == 0) return std::nullopt;
  // While it is a zombie the number of the group is still its own.
  kill_group();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  ended_ = status_of(info);
  return ended_;
}

std::optional<ExitStatus> ChildProcess::wait_for(milliseconds deadline) {
  // A century is for ever and does not overflow.
  const auto end =
      steady_clock::now() + std::clamp<milliseconds>(deadline, milliseconds(0), std::chrono::hours(876'000));
  for (;;) {
    if (auto status = poll()) return status;
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    // Without a pidfd there is nothing to wait for but time.
    pollfd wait{pidfd_.get(), POLLIN, 0};
    const auto longest = pidfd_.valid() ? milliseconds(1'000'000) : milliseconds(5);
    ::poll(&wait, pidfd_.valid() ? 1 : 0, static_cast<int>(std::min(left, longest).count()));
  }
}

}  // namespace ak
