#include "autokernel/base/seccomp_filter.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "autokernel/base/unique_fd.h"

namespace ak {
namespace {

// A socket pair stays possible: it leads nowhere. io_uring would do all of these without a system call.
constexpr const char* kNetwork[] = {"socket",         "connect",        "bind",
                                    "listen",         "accept",         "accept4",
                                    "io_uring_setup", "io_uring_enter", "io_uring_register"};

constexpr const char* kProcessControl[] = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    // leaving the process group, and with it the deadline
    "setsid", "setpgid",
    // namespaces and mounts
    "unshare", "setns", "mount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig",
    "fsmount", "fspick", "pivot_root", "chroot", "name_to_handle_at", "open_by_handle_at",
    // the kernel itself
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "keyctl", "add_key", "request_key", "kexec_load", "kexec_file_load", "init_module", "finit_module",
    "delete_module", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "iopl", "ioperm",
    "syslog", "vhangup", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname",
    "setdomainname", "lookup_dcookie", "fanotify_init"};

constexpr int kNamespaceFlags[] = {CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET, CLONE_NEWNS,
                                   CLONE_NEWIPC,  CLONE_NEWCGROUP, CLONE_NEWUTS};

struct FreeFilter {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FreeFilter>;

/// 0 or a negative errno.
int refuse(void* filter, const char* name, int error) {
  const int number = ::seccomp_syscall_resolve_name(name);
  if (number < 0) return 0;  // this architecture or this libseccomp has no such call
  const int added = ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number, 0);
  return added == -EEXIST ? 0 : added;
}

int refuse_process_control(void* filter) {
  for (const char* name : kProcessControl) {
    if (const int error = refuse(filter, name, EPERM); error != 0) return error;
  }
  const auto refuse_if = [&](int number, scmp_arg_cmp condition) {
    return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 1, condition);
  };
  for (const int flag : kNamespaceFlags) {
    const auto bits = static_cast<scmp_datum_t>(flag);
    if (const int error = refuse_if(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, bits, bits)); error != 0)
      return error;
  }
  // Typing into the terminal that the user sits at. The kernel looks at the low half of the command only.
  if (const int error = refuse_if(SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCSTI));
      error != 0) {
    return error;
  }
  // The flags of clone3 lie in memory, where no filter sees them; libc then takes clone.
  return refuse(filter, "clone3", ENOSYS);
}

Result<std::vector<sock_filter>> exported(void* filter) {
  UniqueFd file(::memfd_create("seccomp", MFD_CLOEXEC));
  struct stat info{};
  if (!file.valid() || ::seccomp_export_bpf(filter, file.get()) != 0 || ::fstat(file.get(), &info) != 0) {
    return environment_error("cannot build the seccomp filter: {}", std::strerror(errno));
  }
  std::vector<sock_filter> program(static_cast<std::size_t>(info.st_size) / sizeof(sock_filter));
  const std::size_t bytes = program.size() * sizeof(sock_filter);
  if (::pread(file.get(), program.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    return environment_error("cannot read the seccomp filter back: {}", std::strerror(errno));
  }
  return program;
}

}  // namespace

bool seccomp_available() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

Result<std::vector<sock_filter>> make_seccomp_filter(const Sandbox& sandbox) {
  if (!sandbox.deny_network && !sandbox.deny_process_control) return std::vector<sock_filter>();
  // Calls of another architecture (32 bit, x32) are not in this filter: they end the process.
  Filter filter(::seccomp_init(SCMP_ACT_ALLOW));
  if (filter == nullptr) return environment_error("cannot create a seccomp filter");
  int error = 0;
  if (sandbox.deny_network) {
    for (const char* name : kNetwork) {
      if (error == 0) error = refuse(filter.get(), name, EPERM);
    }
  }
  if (error == 0 && sandbox.deny_process_control) error = refuse_process_control(filter.get());
  if (error != 0) return environment_error("cannot build the seccomp filter: {}", std::strerror(-error));
  return exported(filter.get());
}

int enter_seccomp(const std::vector<sock_filter>& filter) noexcept {
  if (filter.empty()) return 0;
  sock_fprog program{};
  program.len = static_cast<unsigned short>(filter.size());
  program.filter = const_cast<sock_filter*>(filter.data());  // the kernel only reads it
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : errno;
}

}  // namespace ak
