#pragma once
// What this device can do at best, measured with trusted kernels in the same process as the candidate: copy
// and read bandwidth at a footprint, fp32 multiply-add rate. GB/s are 1e9 bytes (read + written) a second.

#include "autokernel/harness/context.h"

namespace ak::harness {

struct MeasuredBandwidth {
  double copy_gbps = 0;
  double read_gbps = 0;
  double best() const { return copy_gbps > read_gbps ? copy_gbps : read_gbps; }
};

/// With `sets` rotating sets of `set_bytes` in all (copy: half read, half written). The best of several
/// rounds.
Result<MeasuredBandwidth> measure_bandwidth(Context& context, std::uint64_t set_bytes, std::size_t sets);

/// fp32 multiply-adds on all threads of the device, TFLOP/s.
Result<double> measure_multiply_add_tflops(Context& context);

}  // namespace ak::harness
