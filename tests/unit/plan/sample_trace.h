#pragma once
// Small traces for tests: ops one after another on one thread, each with a kernel.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/plan/trace.h"

namespace ak::plan::testing {

struct SampleOp {
  std::string name;
  std::string dims;           ///< "[[4, 8], []]"
  std::string types;          ///< "[\"float\", \"Scalar\"]"
  std::string values = "[]";  ///< "[\"\", \"2\"]"
  std::string strides = "[]";
  double device_us = 10;   ///< 0: launches nothing
  std::string label = {};  ///< of the bridge, "layers.0#mul_3"
};

inline std::string event(std::string_view category, std::string_view name, int thread, double at, double us,
                         std::string_view args) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
      category, name, thread, at, us, args);
}

inline std::string trace_text(const std::vector<SampleOp>& ops) {
  std::string events;
  double at = 1000;
  int correlation = 0;
  for (const SampleOp& op : ops) {
    at += 100;
    if (!events.empty()) events += ",\n";
    events +=
        event("cpu_op", op.name, 1, at, 50,
              fmt::format(R"("Input Dims": {}, "Input type": {}, "Concrete Inputs": {}, "Input Strides": {})",
                          op.dims, op.types, op.values, op.strides));
    if (!op.label.empty())
      events += ",\n" + event("user_annotation", "ak.site:" + op.label, 1, at - 10, 70, "");
    if (op.device_us == 0) continue;
    const std::string tie = fmt::format(R"("correlation": {})", ++correlation);
    events += ",\n" + event("cuda_runtime", "cudaLaunchKernel", 1, at + 10, 5, tie);
    events += ",\n" + event("kernel", "kernel of " + op.name, 7, at + 500, op.device_us, tie);
  }
  return "{\"traceEvents\": [" + events + "]}";
}

inline Trace read_sample(std::string_view text) {
  const auto source = memory_source(text);
  Result<Trace> trace = read_trace(*source, "sample");
  AK_CHECK(trace.has_value());
  return std::move(*trace);
}

}  // namespace ak::plan::testing
