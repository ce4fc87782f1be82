#pragma once
// The parent's side of the compiler process: started by the first job, kept for the next ones, replaced when
// it ends, hangs or has served for long.

#include <optional>
#include <string_view>

#include "autokernel/base/subprocess.h"

namespace ak::cuda {

class NvrtcProcess {
 public:
  /// `spec`: command, limits, the deadline of one job.
  explicit NvrtcProcess(ProcessSpec spec) : spec_(std::move(spec)) {}

  /// The answer to an encoded job, as `out`; else how the process ended. `wall_s` is the time of this job
  /// alone. Fails only when the process cannot be started.
  Result<ProcessResult> ask(std::string_view job);

 private:
  Result<ProcessResult> ask_once(std::string_view job);

  ProcessSpec spec_;
  std::optional<ChildProcess> child_;
  int served_ = 0;  ///< jobs, by this child
};

}  // namespace ak::cuda
