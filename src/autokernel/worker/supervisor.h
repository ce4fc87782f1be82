#pragma once
// The supervisor, `autokernel worker`: speaks to the parent, keeps one runner, enforces deadlines, says how a
// runner died, replaces it, and exits when its input ends (a dropped ssh leaves nothing running).

#include <chrono>
#include <string>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::worker {

struct SupervisorOptions {
  std::vector<std::string> runner_command;  ///< e.g. {"/proc/self/exe", "__runner", "--device", "cpu"}
  std::chrono::milliseconds default_deadline{120'000};
};

/// 0 on end of file.
int run_supervisor(const SupervisorOptions& options, int in, int out);

}  // namespace ak::worker
