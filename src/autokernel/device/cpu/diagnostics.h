#pragma once
// What the host compiler said, turned into a Failure in the kernel file's own terms.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autokernel/core/binary.h"
#include "autokernel/core/failure.h"

namespace ak::cpu {

/// Folders of ours that must not appear in a log: {path, what stands in its place}.
using Scrubs = std::vector<std::pair<std::string, std::string>>;

/// Replaces our paths, drops control characters and cuts at 4 KiB, at a line's end.
std::string tidy_log(std::string_view log, const Scrubs& scrubs);

struct Diagnosis {
  Failure failure;
  bool about_the_source = true;  ///< false: the compiler itself failed, which is an error of the environment
};

/// `log` is tidy; the compiler exited with an error.
Diagnosis diagnose(std::string_view log, const Source& source);

}  // namespace ak::cpu
