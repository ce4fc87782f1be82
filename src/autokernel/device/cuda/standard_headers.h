#pragma once
// NVRTC has no C or C++ standard library. These few headers, compiled from memory, hold what kernels use of
// it, so that one kernel file compiles here, under nvcc and on the CPU device.

#include <vector>

#include "autokernel/device/cuda/nvrtc_api.h"

namespace ak::cuda {

/// The header that every compilation includes first (`--pre-include`): integer types, INFINITY, FLT_MAX and
/// friends, which nvcc's own preamble defines as well.
inline constexpr const char* kPreambleName = "autokernel_preamble.h";

/// The preamble, and stdint.h, cmath and others as empty headers behind it.
std::vector<NvrtcHeader> standard_headers();

}  // namespace ak::cuda
