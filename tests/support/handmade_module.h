#pragma once
// Modules written by hand to src/autokernel/device/cpu/abi.h and compiled by g++, for tests of the runtime
// alone: hostile ones, and faults that the compiler half would refuse.

#include <string>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"

namespace ak::test {

struct HandmadeKernel {
  std::string name;
  std::vector<std::string> params;  ///< C types, e.g. {"float*", "int"}
};

/// `code` defines `static void <name>(<params>)` for each kernel. It may use the types of abi.h, `threadIdx`,
/// `blockIdx`, `blockDim`, `gridDim` (AkDim3) and `shared_memory`, a `char[16384]` of static shared memory.
Result<Binary> handmade_module(const std::string& code, const std::vector<HandmadeKernel>& kernels,
                               Build build = Build::kTimed);

}  // namespace ak::test
