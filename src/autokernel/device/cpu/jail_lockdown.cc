#include "autokernel/device/cpu/jail_lockdown.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "autokernel/base/landlock_rules.h"

namespace ak::cpu {
namespace {

constexpr std::initializer_list<long> kAlways = {
    SYS_futex,       SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_sched_yield,
#if defined(__SANITIZE_ADDRESS__)  // every call of a [[noreturn]] function asks for the signal stack
    SYS_sigaltstack,
#endif
};

constexpr std::initializer_list<long> kLoading = {
    SYS_openat, SYS_read,   SYS_pread64, SYS_lseek,    SYS_fstat,   SYS_newfstatat,     SYS_close,
    SYS_mmap,   SYS_munmap, SYS_brk,     SYS_mprotect, SYS_madvise, SYS_rt_sigprocmask, SYS_seccomp,
};

#if !defined(__x86_64__)
#error "the jail's filters are written for x86-64"
#endif

std::vector<sock_filter> make_filter(std::initializer_list<std::initializer_list<long>> lists) {
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const auto& list : lists) {
    for (const long number : list) {
      code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
      code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  return code;
}

Status install(std::vector<sock_filter> code) {
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  const long result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (result == 0) return {};
  return environment_error("cannot install a seccomp filter: {}",
                           result > 0 ? "a thread cannot be synchronised" : std::strerror(errno));
}

}  // namespace

void deny_files() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int abi = landlock_abi();
  if (abi == 0) return;
  if (auto ruleset = make_landlock_ruleset(Sandbox{}, abi)) enter_landlock(ruleset->get());
}

Status enter_loading_filter() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return install(make_filter({kAlways, kLoading}));
}

Status enter_running_filter() { return install(make_filter({kAlways})); }

}  // namespace ak::cpu
