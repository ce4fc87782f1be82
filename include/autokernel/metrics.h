#pragma once
// What is known of a candidate once it has run.

#include <cmath>
#include <functional>
#include <limits>
#include <string>

namespace ak {

/// A number and where it comes from: "measured: ...", "derived: ..." or "not available: ...".
struct Metric {
  double value = std::numeric_limits<double>::quiet_NaN();  ///< NaN when it is not available
  std::string source = "not available: nothing was measured";
  bool available() const { return !std::isnan(value); }
};

struct Metrics {
  Metric execution_time;   ///< seconds, one execution of all launches
  Metric memory_usage;     ///< bytes of device memory, tensors and workspaces
  Metric gpu_utilization;  ///< % of what the device can do, memory or compute, whichever is nearer its limit
};

/// A cost over the metrics: lower is better. NaN means that the candidate is not wanted.
using Objective = std::function<double(const Metrics&)>;

}  // namespace ak
