#pragma once
// The metrics of a passed verdict, each with its source.

#include "autokernel/api/candidate_data.h"
#include "autokernel/core/verdict.h"
#include "autokernel/metrics.h"

namespace ak::api {

/// What the device can do on a problem, from a full verdict; 0: unknown.
struct Peaks {
  double gbps = 0, tflops = 0;
};

struct MetricsInput {
  const KernelCandidate::Data& candidate;
  const Timing& timing;
  double execution_us;  ///< what counts as the execution time
  std::string remark;   ///< on how it was timed, or empty
  Peaks peaks;
  const DeviceInfo& device;  ///< that was measured on
};

/// An error is a kernel file whose launch cannot be evaluated: not after it has run.
Result<Metrics> metrics_of(const MetricsInput& input);

}  // namespace ak::api
