#pragma once
// Child processes: own process group, limits, a deadline, captured and capped output, optional sandbox.
//
//   AK_TRY(done, run_process({.argv = {"git", "status"}, .deadline = 10s}));
//   if (done.exit_code != 0) ...

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/base/sandbox.h"
#include "autokernel/base/unique_fd.h"

namespace ak {

struct ProcessSpec {
  std::vector<std::string> argv{};  ///< argv[0] is looked up on PATH
  std::filesystem::path directory{};
  std::optional<std::vector<std::string>> environment{};  ///< "NAME=value"; nullopt inherits
  std::string input{};                                    ///< fed to standard input by run_process
  std::chrono::milliseconds deadline{60'000};
  std::uint64_t memory_limit_bytes = 0;  ///< RLIMIT_AS; 0: none
  std::uint64_t cpu_limit_s = 0;         ///< RLIMIT_CPU; 0: none
  std::uint64_t file_limit_bytes = 0;    ///< RLIMIT_FSIZE; 0: none
  std::size_t output_cap_bytes = 1u << 20;
  std::optional<Sandbox> sandbox{};
  /// Descriptors the child gets as 3, 4, ... (close-on-exec is cleared in the child only).
  std::vector<int> extra_fds{};
  /// PR_SET_PDEATHSIG. The kernel's parent is the THREAD that starts the child: it must live as long.
  bool die_with_parent = true;
};

struct ProcessResult {
  int exit_code = -1;  ///< -1 when a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::string out;
  std::string err;
  bool truncated = false;  ///< output beyond the cap was dropped
  double wall_s = 0;
};

/// Runs to the end of the program or the deadline, then SIGKILL to what is left of the group. Fails only when
/// the child cannot be started.
Result<ProcessResult> run_process(const ProcessSpec& spec);

/// How a child ended.
struct ExitStatus {
  int exit_code = -1;
  int signal = 0;
  std::string describe() const;  ///< "exit code 3", "killed by SIGSEGV"
};

/// A child with pipes on its standard streams, for protocols. Killed (whole group) with the object; when the
/// child itself is seen to have ended, what is left of its group is killed too. A write to `in()` after the
/// child's end raises SIGPIPE unless the program ignores it.
class ChildProcess {
 public:
  static Result<ChildProcess> start(const ProcessSpec& spec);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  int in() const { return in_.get(); }    ///< write end of its standard input
  int out() const { return out_.get(); }  ///< read end of its standard output
  int err() const { return err_.get(); }
  void close_in() { in_.reset(); }
  /// nullopt while it runs.
  std::optional<ExitStatus> poll();
  /// Waits until the deadline; nullopt when it still runs.
  std::optional<ExitStatus> wait_for(std::chrono::milliseconds deadline);
  void kill_group();  ///< SIGKILL to the process group

 private:
  ChildProcess() = default;
  void reap();
  pid_t pid_ = -1;
  UniqueFd in_, out_, err_;
  UniqueFd pidfd_;  ///< readable when the child has ended; invalid on kernels before 5.3
  std::optional<ExitStatus> ended_;
};

/// Whether all of an answer has arrived.
using AnswerIsWhole = std::function<bool(std::string_view)>;

/// Puts a question to a child that serves many, and returns its answer as `out`: `exit_code` -1 and no signal
/// say that it lives. Returns when the answer is whole, when the child ends, or at the deadline (it is killed
/// then).
ProcessResult exchange(ChildProcess& child, std::string_view question, std::chrono::milliseconds deadline,
                       std::size_t output_cap_bytes, const AnswerIsWhole& whole);

}  // namespace ak
