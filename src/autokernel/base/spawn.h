#pragma once
// Starts a program with pipes on its standard streams. Internal to Subprocess.

#include <sys/types.h>

#include "autokernel/base/result.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/base/unique_fd.h"

namespace ak {

struct Spawned {
  pid_t pid = -1;
  UniqueFd in, out, err;  ///< the parent's ends
};

/// Returns when the program runs; an exec that failed is an error here.
Result<Spawned> spawn(const ProcessSpec& spec);

}  // namespace ak
