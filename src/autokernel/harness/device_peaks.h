#pragma once
// The peaks of a GPU, measured with kernels of our own in a second or two: copy and read bandwidth far beyond
// the caches, matrix rates by input type, the fp32 multiply-add rate, the cost of an empty launch.

#include "autokernel/base/clock.h"
#include "autokernel/device/compiler.h"
#include "autokernel/device/device.h"
#include "autokernel/roofline/peaks.h"

namespace ak::harness {

/// Rates are the best of several short rounds, so that no kernel is faster. The rate for f32 inputs is what
/// fp32 multiply-adds give, or a third of the f16 rate where that is more: products of split operands reach
/// fp32 accuracy with three matrix instructions. Not measured (and absent): matrix rates of architectures
/// whose matrix instructions we do not know.
Result<roofline::Peaks> measure_device_peaks(device::Device& device, device::Compiler& compiler,
                                             const Clock& clock);

}  // namespace ak::harness
