#include "autokernel/device/cuda/nvrtc_process.h"

#include "autokernel/device/cuda/nvrtc_job.h"

namespace ak::cuda {
namespace {

constexpr int kMostJobs = 256;  // whatever NVRTC leaves behind in its process stays small

}  // namespace

Result<ProcessResult> NvrtcProcess::ask(std::string_view job) {
  const bool served_before = served_ > 0;
  AK_TRY(done, ask_once(job));
  // Between two jobs something else may have ended it; the job that ends a compiler does so again.
  if (child_ || done.timed_out || !served_before) return done;
  return ask_once(job);
}

Result<ProcessResult> NvrtcProcess::ask_once(std::string_view job) {
  const auto start = std::chrono::steady_clock::now();
  if (!child_ || served_ >= kMostJobs) {
    AK_TRY(child, ChildProcess::start(spec_));
    child_.emplace(std::move(child));
    served_ = 0;
  }
  ProcessResult done = exchange(*child_, job, spec_.deadline, spec_.output_cap_bytes, is_whole_message);
  done.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ++served_;
  if (!is_whole_message(done.out) || child_->poll()) child_.reset();
  return done;
}

}  // namespace ak::cuda
