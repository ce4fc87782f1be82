#include "autokernel/device/cpu/jail.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <string>

#include "autokernel/device/cpu/buffers.h"
#include "autokernel/device/cpu/futex.h"
#include "autokernel/device/cpu/jail_lockdown.h"

namespace ak::cpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPollInterval{
    10};  // a jail that dies without a word is noticed after this
constexpr int kEmptyBatches = 24;
constexpr std::uint64_t kPage = 4096;

std::uint64_t round_up(std::uint64_t value) { return (value + kPage - 1) / kPage * kPage; }

/// Number of seccomp filters of a /proc status file, or -1 where the kernel does not tell (before 5.9).
int seccomp_filters(const std::filesystem::path& status) {
  std::ifstream file(status);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Seccomp_filters:")) return std::atoi(line.c_str() + 16);
  }
  return -1;
}

}  // namespace

void JailBatch::add(const JailStep& step, const std::vector<JailArg>& args) {
  JailStep written = step;
  written.arg_count = static_cast<std::uint32_t>(args.size());
  const auto append = [&](const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  };
  append(&written, sizeof(written));
  if (!args.empty()) append(args.data(), args.size() * sizeof(JailArg));
  ++steps_;
}

Status Jail::create_control(const Spec& spec) {
  JailConfig config;
  config.parent_pid = static_cast<std::int32_t>(::getpid());
  config.threads = spec.threads;
  config.module_fd = spec.module_fd;
  config.blocking = spec.blocking;
  config.checked = spec.checked;
  config.buffer_count = static_cast<std::uint32_t>(spec.buffers.size());
  config.needs = spec.needs;
  config.table_offset = round_up(sizeof(JailControl));
  config.batch_offset = batch_offset_ =
      round_up(config.table_offset + spec.buffers.size() * sizeof(JailBuffer));
  config.control_bytes = control_bytes_ = config.batch_offset + kMaxBatchBytes;
  AK_TRY(fd, create_memfd("ak-control"));
  control_fd_ = std::move(fd);
  if (::ftruncate(control_fd_.get(), static_cast<off_t>(control_bytes_)) != 0) {
    return environment_error("cannot size a jail's control block: {}", std::strerror(errno));
  }
  void* at = ::mmap(nullptr, control_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, control_fd_.get(), 0);
  if (at == MAP_FAILED)
    return environment_error("cannot map a jail's control block: {}", std::strerror(errno));
  base_ = static_cast<std::byte*>(at);
  new (base_) JailControl();
  control().config = config;
  if (!spec.buffers.empty()) {
    std::memcpy(base_ + config.table_offset, spec.buffers.data(), spec.buffers.size() * sizeof(JailBuffer));
  }
  return {};
}

Status Jail::spawn(const Spec& spec) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, control_fd_.get(), kJailControlFd);
  // A duplicate of a descriptor onto itself clears close-on-exec, in the child only.
  ::posix_spawn_file_actions_adddup2(&files, spec.module_fd, spec.module_fd);
  for (const JailBuffer& buffer : spec.buffers)
    ::posix_spawn_file_actions_adddup2(&files, buffer.fd, buffer.fd);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& argument : spec.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
#if defined(__SANITIZE_ADDRESS__)
  char options[] = "ASAN_OPTIONS=detect_leaks=0";
  char* environment[] = {options, nullptr};
#else
  char* environment[] = {nullptr};  // nothing of the parent's
#endif
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments[0], &files, &attributes, arguments.data(), environment);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return environment_error("cannot start a jail ({}): {}", spec.command[0], std::strerror(error));
  pid_ = pid;
  return {};
}

Result<Jail::Started> Jail::start(const Spec& spec) {
  AK_CHECK(!spec.command.empty());
  Started started;
  std::unique_ptr<Jail> jail(new Jail());
  AK_TRY_VOID(jail->create_control(spec));
  AK_TRY_VOID(jail->spawn(spec));
  started.end = jail->wait_for(0, Clock::now() + spec.start_deadline);
  if (!started.end) started.end = jail->stop();
  if (started.end) {
    started.end->while_loading = true;
    if (jail->control().state.load(std::memory_order_acquire) == JailState::kStarting) {
      return environment_error(
          "{} {} is no jail of this device (it ended, or hung, before it loaded anything)", spec.command[0],
          spec.command.size() > 1 ? spec.command[1] : "");
    }
    return started;
  }
  AK_TRY_VOID(jail->check_filters());
  started.jail = std::move(jail);
  return started;
}

/// The jail says that it has locked itself in; the kernel knows.
Status Jail::check_filters() const {
  const int own = seccomp_filters("/proc/self/status");
  if (own < 0) return {};
  std::error_code error;
  std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", pid_), error);
  if (error) return environment_error("cannot look at the jail's threads: {}", error.message());
  for (const auto& task : tasks) {
    if (seccomp_filters(task.path() / "status") < own + kJailFilters) {
      return environment_error("a thread of the jail runs without its seccomp filters");
    }
  }
  return {};
}

Jail::Outcome Jail::run(const JailBatch& batch, std::chrono::nanoseconds deadline) {
  AK_CHECK(alive() && batch.bytes().size() <= kMaxBatchBytes);
  JailControl& shared = control();
  if (!batch.bytes().empty()) std::memcpy(base_ + batch_offset_, batch.bytes().data(), batch.bytes().size());
  shared.step_count = batch.steps();
  shared.step.store(0, std::memory_order_relaxed);
  ++request_;
  Outcome outcome;
  ::kill(pid_, SIGCONT);
  const Clock::time_point start = Clock::now();
  shared.request.store(request_, std::memory_order_release);
  futex_wake_all(shared.request);
  outcome.end = wait_for(request_, start + deadline);
  outcome.elapsed_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (!outcome.end) outcome.end = stop();
  return outcome;
}

/// Until the jail claims that request `request` is done (0: that it is ready), ends, or is killed at `until`.
std::optional<JailEnd> Jail::wait_for(std::uint32_t request, Clock::time_point until) {
  JailControl& shared = control();
  for (;;) {
    const std::uint32_t event = shared.event.load(std::memory_order_acquire);
    const JailState state = shared.state.load(std::memory_order_acquire);
    if (state == JailState::kFaulted) return killed(JailEnd::Kind::kRecord);
    if (request == 0 ? state == JailState::kReady : shared.done.load(std::memory_order_acquire) == request)
      return {};
    const auto left = until - Clock::now();
    if (left <= std::chrono::nanoseconds(0)) return killed(JailEnd::Kind::kTimeout);
    const auto nap = std::min<std::chrono::nanoseconds>(left, kPollInterval);
    const timespec timeout{0, static_cast<long>(nap.count())};
    futex_wait(shared.event, event, &timeout);
    if (shared.event.load(std::memory_order_acquire) == event) {
      if (auto end = poll_exit()) return end;
    }
  }
}

/// Returns when the kernel says that no thread of the jail runs.
std::optional<JailEnd> Jail::stop() {
  ::kill(pid_, SIGSTOP);
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED) != 0) {
      if (errno == EINTR) continue;
      pid_ = -1;  // reaped by someone else: it is gone
      return from_status(CLD_EXITED, 0);
    }
    if (info.si_code == CLD_STOPPED) return std::nullopt;
    pid_ = -1;
    return from_status(info.si_code, info.si_status);
  }
}

std::optional<JailEnd> Jail::poll_exit() {
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0) {
    if (errno == EINTR) return std::nullopt;
    pid_ = -1;
    return from_status(CLD_EXITED, 0);
  }
  if (info.si_pid == 0) return std::nullopt;
  pid_ = -1;
  return from_status(info.si_code, info.si_status);
}

JailEnd Jail::from_status(int code, int status) {
  JailEnd end;
  JailControl& shared = control();
  end.step = shared.step.load(std::memory_order_relaxed);
  if (shared.state.load(std::memory_order_acquire) == JailState::kFaulted) {
    end.kind = JailEnd::Kind::kRecord;
    std::memcpy(&end.record, &shared.fault, sizeof(end.record));
    return end;
  }
  end.kind = code == CLD_EXITED ? JailEnd::Kind::kExit : JailEnd::Kind::kSignal;
  end.status = status;
  return end;
}

JailEnd Jail::killed(JailEnd::Kind kind) {
  kill_and_reap();
  JailEnd end;
  end.kind = kind;
  end.step = control().step.load(std::memory_order_relaxed);
  if (kind == JailEnd::Kind::kRecord) std::memcpy(&end.record, &control().fault, sizeof(end.record));
  return end;
}

void Jail::kill_and_reap() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  pid_ = -1;
}

Jail::~Jail() {
  kill_and_reap();
  if (base_ != nullptr) ::munmap(base_, control_bytes_);
}

std::optional<double> Jail::empty_batch_us() {
  if (empty_us_) return empty_us_;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kEmptyBatches; ++i) {
    const Outcome outcome = run(JailBatch{}, std::chrono::seconds(20));  // a busy machine may wake it late
    if (outcome.end) return std::nullopt;
    least = std::min(least, outcome.elapsed_us);
  }
  empty_us_ = least;  // rather too little than too much is subtracted from a candidate's time
  return empty_us_;
}

}  // namespace ak::cpu
