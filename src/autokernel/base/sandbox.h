#pragma once
// What a compiler process may do: Landlock for files, seccomp for system calls, rlimits. Applied between fork
// and exec by Subprocess.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "autokernel/base/result.h"

namespace ak {

struct Sandbox {
  /// Files and folders that may be read and executed; the program itself, its loader and libraries belong
  /// here. What does not exist is skipped.
  std::vector<std::filesystem::path> read_only{};
  /// Folders (and files) that may be read and written but not executed from; they must exist.
  std::vector<std::filesystem::path> read_write{};
  bool deny_network = true;
  bool deny_process_control = true;  ///< ptrace, kill of others, mount, bpf, keyctl, ... (seccomp)
};

struct SandboxSupport {
  int landlock_abi = 0;  ///< 0: not available
  bool seccomp = false;
  bool complete() const { return landlock_abi > 0 && seccomp; }
  std::string missing() const;  ///< "Landlock (kernel 5.13 or later)", for messages
};

/// Probes the running kernel.
SandboxSupport sandbox_support();

/// Restricts the calling process for good (no_new_privs, Landlock, seccomp). Async-signal-unsafe work
/// (allocation) happens in the caller before fork: prepare first, enter after.
class PreparedSandbox {
 public:
  /// Fails where the kernel lacks Landlock or seccomp: a sandbox is never silently left out.
  static Result<PreparedSandbox> prepare(const Sandbox& sandbox);
  PreparedSandbox(PreparedSandbox&&) noexcept;
  PreparedSandbox& operator=(PreparedSandbox&&) noexcept;
  ~PreparedSandbox();
  /// 0, or an errno. Safe between fork and exec.
  int enter() const noexcept;

 private:
  struct State;
  explicit PreparedSandbox(State* state) : state_(state) {}
  State* state_;
};

}  // namespace ak
