#include "autokernel/base/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "autokernel/base/file.h"

extern char** environ;

namespace ak {
namespace {

// Descriptors of the parent lie at or above; below are those that the child gets by number.
constexpr int kFirstPrivateFd = 64;
constexpr int kFirstExtraFd = 3;

enum class Step : int { kNone, kDescriptors, kDirectory, kLimits, kSandbox, kExec };

/// Written by the child before it gives up, on a page that both share.
struct Failure {
  Step step = Step::kNone;
  int error = 0;
};

class SharedFailure {
 public:
  SharedFailure()
      : page_(::mmap(nullptr, sizeof(Failure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (valid()) *get() = Failure();
  }
  ~SharedFailure() {
    if (valid()) ::munmap(page_, sizeof(Failure));
  }
  SharedFailure(const SharedFailure&) = delete;
  SharedFailure& operator=(const SharedFailure&) = delete;
  bool valid() const { return page_ != MAP_FAILED; }
  Failure* get() const { return static_cast<Failure*>(page_); }

 private:
  void* page_;
};

struct Limit {
  int resource;
  rlim_t value;
};

/// All that the child needs, made before it exists: between clone and exec nothing may be allocated, because
/// another thread of the parent may have held the allocator's lock.
struct ChildPlan {
  std::string program;
  std::vector<char*> argv, envp;
  const char* directory = nullptr;
  UniqueFd streams[3];  // the child's ends
  std::vector<int> extra_fds;
  std::vector<Limit> limits;
  std::optional<PreparedSandbox> sandbox;
  pid_t parent = 0;  // 0: the child may outlive it
  Failure* failure = nullptr;
};

// The child uses raw system calls where sanitizers put locks of their own around the library's functions.

/// The kernel's own structure: that of libc differs.
struct KernelSigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

void reset_signals() {
  for (int number = 1; number < 65; ++number) {
    KernelSigaction action{};
    if (::syscall(SYS_rt_sigaction, number, nullptr, &action, sizeof action.mask) != 0) continue;
    // What is ignored stays so (nohup), but for what programs rely on.
    if (action.handler == SIG_IGN && number != SIGPIPE && number != SIGCHLD) continue;
    action = KernelSigaction{};
    ::syscall(SYS_rt_sigaction, number, &action, nullptr, sizeof action.mask);
  }
  const std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
}

/// 0 or an errno.
int arrange_descriptors(ChildPlan& plan) {
  // The caller's may lie where others go: all of them move up before any is put in its place.
  for (int& fd : plan.extra_fds) {
    fd = static_cast<int>(::syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kFirstPrivateFd));
    if (fd < 0) return errno;
  }
  int target = 0;
  for (const UniqueFd& stream : plan.streams) {
    if (::syscall(SYS_dup3, stream.get(), target++, 0) < 0) return errno;
  }
  target = kFirstExtraFd;
  for (const int fd : plan.extra_fds) {
    if (::syscall(SYS_dup3, fd, target++, 0) < 0) return errno;
  }
  // Nothing that some library left open reaches the program.
  constexpr unsigned kCloseOnExec = 1u << 2;  // CLOSE_RANGE_CLOEXEC, Linux 5.11
  if (::syscall(SYS_close_range, target, ~0u, kCloseOnExec) != 0) {
    for (int fd = target; fd < 1024; ++fd) ::syscall(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
  }
  return 0;
}

[[noreturn]] void give_up(const ChildPlan& plan, Step step, int error) {
  *plan.failure = {step, error};
  for (;;) ::syscall(SYS_exit_group, 127);
}

[[noreturn]] void run_child(ChildPlan& plan) {
  ::syscall(SYS_setpgid, 0, 0);
  if (plan.parent != 0) {
    ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // The parent may have died before that.
    if (::syscall(SYS_getppid) != plan.parent) give_up(plan, Step::kExec, ESRCH);
  }
  reset_signals();
  if (const int error = arrange_descriptors(plan); error != 0) give_up(plan, Step::kDescriptors, error);
  if (plan.directory != nullptr && ::syscall(SYS_chdir, plan.directory) != 0) {
    give_up(plan, Step::kDirectory, errno);
  }
  for (const Limit& limit : plan.limits) {
    const std::uint64_t both[2] = {limit.value, limit.value};
    if (::syscall(SYS_prlimit64, 0, limit.resource, both, nullptr) != 0) give_up(plan, Step::kLimits, errno);
  }
  if (plan.sandbox) {
    if (const int error = plan.sandbox->enter(); error != 0) give_up(plan, Step::kSandbox, error);
  }
  ::syscall(SYS_execve, plan.program.c_str(), plan.argv.data(), plan.envp.data());
  give_up(plan, Step::kExec, errno);
}

Status check_text(const std::vector<std::string>& texts, std::string_view what) {
  for (const std::string& text : texts) {
    if (text.find('\0') != std::string::npos) {
      return usage_error("cannot start a process: {} holds a zero byte: {}", what, text.c_str());
    }
  }
  return {};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  // exec takes pointers to non-const for historical reasons; it copies the texts.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void add_limit(std::vector<Limit>& limits, int resource, std::uint64_t value) {
  rlimit current{};
  // A user who is not root cannot raise a hard limit.
  if (::prlimit(0, static_cast<__rlimit_resource>(resource), nullptr, &current) == 0) {
    value = std::min<std::uint64_t>(value, current.rlim_max);
  }
  limits.push_back({resource, value});
}

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return environment_error("cannot create a pipe: {}", std::strerror(errno));
  const UniqueFd low_read(fds[0]), low_write(fds[1]);
  Pipe pipe{UniqueFd(::fcntl(fds[0], F_DUPFD_CLOEXEC, kFirstPrivateFd)),
            UniqueFd(::fcntl(fds[1], F_DUPFD_CLOEXEC, kFirstPrivateFd))};
  if (!pipe.read.valid() || !pipe.write.valid()) {
    return environment_error("cannot create a pipe: {}", std::strerror(errno));
  }
  return pipe;
}

Result<ChildPlan> make_plan(const ProcessSpec& spec) {
  if (spec.argv.empty()) return usage_error("cannot start a process: no program is given");
  AK_TRY_VOID(check_text(spec.argv, "an argument"));
  if (spec.environment) AK_TRY_VOID(check_text(*spec.environment, "the environment"));
  if (spec.extra_fds.size() > kFirstPrivateFd - kFirstExtraFd) {
    return usage_error("cannot start {}: too many descriptors to hand over", spec.argv[0]);
  }
  ChildPlan plan;
  AK_TRY(program, find_program(spec.argv[0]));
  plan.program = program.string();
  plan.argv = pointers_to(spec.argv);
  if (spec.environment) {
    plan.envp = pointers_to(*spec.environment);
  } else {
    // The pointers are copied: another thread may change the environment.
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) plan.envp.push_back(*entry);
    plan.envp.push_back(nullptr);
  }
  if (!spec.directory.empty()) plan.directory = spec.directory.c_str();
  plan.extra_fds = spec.extra_fds;
  plan.limits.push_back({RLIMIT_CORE, 0});
  if (spec.memory_limit_bytes != 0) add_limit(plan.limits, RLIMIT_AS, spec.memory_limit_bytes);
  if (spec.cpu_limit_s != 0) add_limit(plan.limits, RLIMIT_CPU, spec.cpu_limit_s);
  if (spec.file_limit_bytes != 0) add_limit(plan.limits, RLIMIT_FSIZE, spec.file_limit_bytes);
  if (spec.sandbox) {
    AK_TRY(sandbox, PreparedSandbox::prepare(*spec.sandbox));
    plan.sandbox = std::move(sandbox);
  }
  if (spec.die_with_parent) plan.parent = ::getpid();
  return plan;
}

tl::unexpected<Error> cannot_start(const ProcessSpec& spec, const ChildPlan& plan, Failure failure) {
  const std::string reason = std::strerror(failure.error);
  switch (failure.step) {
    case Step::kDescriptors:
      return environment_error("cannot start {}: cannot hand over its descriptors: {}", spec.argv[0], reason);
    case Step::kDirectory:
      return environment_error("cannot start {} in {}: {}", spec.argv[0], spec.directory.string(), reason);
    case Step::kLimits:
      return environment_error("cannot start {}: cannot set its limits: {}", spec.argv[0], reason);
    case Step::kSandbox:
      return environment_error("cannot start {}: cannot enter its sandbox: {}", spec.argv[0], reason);
    default:
      return environment_error(
          "cannot start {} ({}): {}{}", spec.argv[0], plan.program, reason,
          plan.sandbox && failure.error == EACCES ? " (does its sandbox allow it?)" : "");
  }
}

/// The pid, or -1 with errno. CLONE_VFORK holds this thread until the child has called exec or ended, so that
/// its failure is known without a pipe that some other fork could keep open; memory is not shared, so nothing
/// that the child does is seen here.
pid_t clone_child(ChildPlan& plan) {
  sigset_t all, old;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);  // no handler of ours runs in the child
  const long pid = ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) run_child(plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  errno = error;
  return static_cast<pid_t>(pid);
}

}  // namespace

Result<Spawned> spawn(const ProcessSpec& spec) {
  AK_TRY(plan, make_plan(spec));
  const SharedFailure failure;
  if (!failure.valid()) return environment_error("cannot start {}: {}", spec.argv[0], std::strerror(errno));
  plan.failure = failure.get();
  AK_TRY(in, make_pipe());
  AK_TRY(out, make_pipe());
  AK_TRY(err, make_pipe());
  plan.streams[0] = std::move(in.read);
  plan.streams[1] = std::move(out.write);
  plan.streams[2] = std::move(err.write);
  const pid_t pid = clone_child(plan);
  if (pid < 0) return environment_error("cannot start {}: {}", spec.argv[0], std::strerror(errno));
  if (failure.get()->step != Step::kNone) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return cannot_start(spec, plan, *failure.get());
  }
  return Spawned{pid, std::move(in.write), std::move(out.read), std::move(err.read)};
}

}  // namespace ak
