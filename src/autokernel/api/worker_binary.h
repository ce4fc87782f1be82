#pragma once
// Where the `autokernel` binary is, whose `worker` command compiles and measures.

#include <filesystem>
#include <optional>
#include <string>

#include "autokernel/base/result.h"

namespace ak::api {

struct WorkerSearch {
  std::optional<std::string> from_environment;  ///< $AUTOKERNEL_BIN
  std::filesystem::path beside;                 ///< folder of the running executable
  static WorkerSearch of_this_process();
};

/// $AUTOKERNEL_BIN (which must then be usable), beside the executable, PATH. The error lists what was looked
/// at.
Result<std::filesystem::path> find_worker_binary(const WorkerSearch& search);

}  // namespace ak::api
