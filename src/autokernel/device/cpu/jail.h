#pragma once
// A jail as its parent sees it: a process that runs batches of one candidate module's launches. It is stopped
// (SIGSTOP, and the stop is waited for) whenever no batch is in flight, so trusted code never reads or writes
// a buffer while the candidate can run.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/base/unique_fd.h"
#include "autokernel/device/cpu/jail_protocol.h"

namespace ak::cpu {

/// How a jail ended. Nothing in it is more than a claim, but any end is a failure.
struct JailEnd {
  enum class Kind { kRecord, kExit, kSignal, kTimeout } kind = Kind::kRecord;
  FaultRecord record;      ///< kRecord
  int status = 0;          ///< exit code or signal
  std::uint32_t step = 0;  ///< of the batch
  bool while_loading = false;
};

/// Steps in the form in which a jail reads them.
class JailBatch {
 public:
  void add(const JailStep& step, const std::vector<JailArg>& args);
  std::uint32_t steps() const { return steps_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::uint32_t steps_ = 0;
  std::vector<std::byte> bytes_;
};

class Jail {
 public:
  struct Spec {
    std::vector<std::string> command;  ///< a process that calls jail_main()
    int module_fd = -1;
    bool blocking = true, checked = false;
    std::uint32_t threads = 1;
    RunnerNeeds needs;
    std::vector<JailBuffer> buffers;
    std::chrono::milliseconds start_deadline{10'000};
  };
  struct Started {
    std::unique_ptr<Jail> jail;
    std::optional<JailEnd> end;  ///< the module could not be loaded; no jail then
  };
  /// kEnvironment when no process can be started or it is no jail.
  static Result<Started> start(const Spec& spec);
  ~Jail();  // kills
  Jail(const Jail&) = delete;
  Jail& operator=(const Jail&) = delete;

  struct Outcome {
    std::optional<JailEnd> end;  ///< the jail is gone
    double elapsed_us = 0;       ///< from just before the request to the answer, by the parent's clock
  };
  Outcome run(const JailBatch& batch, std::chrono::nanoseconds deadline);
  static constexpr std::uint64_t kMaxBatchBytes = 4u << 20;

  /// The time of an empty batch: the least of some, measured on the first call.
  std::optional<double> empty_batch_us();
  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

 private:
  Jail() = default;
  Status create_control(const Spec& spec);
  Status spawn(const Spec& spec);
  std::optional<JailEnd> wait_for(std::uint32_t request, std::chrono::steady_clock::time_point until);
  std::optional<JailEnd> stop();
  JailEnd killed(JailEnd::Kind kind);
  std::optional<JailEnd> poll_exit();
  JailEnd from_status(int code, int status);
  void kill_and_reap();
  Status check_filters() const;

  pid_t pid_ = -1;
  UniqueFd control_fd_;
  std::byte* base_ = nullptr;
  std::uint64_t control_bytes_ = 0, batch_offset_ = 0;
  std::uint32_t request_ = 0;
  std::optional<double> empty_us_;
  JailControl& control() { return *reinterpret_cast<JailControl*>(base_); }
};

}  // namespace ak::cpu
