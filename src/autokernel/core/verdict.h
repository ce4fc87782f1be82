#pragma once
// What the harness says of a candidate.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/core/config.h"
#include "autokernel/core/device_info.h"
#include "autokernel/core/failure.h"
#include "autokernel/core/problem.h"

namespace ak {

/// Median and 95 % bootstrap interval, microseconds.
struct TimeEstimate {
  double median_us = 0;
  double ci_low_us = 0;
  double ci_high_us = 0;
};

enum class CacheState { kCold, kWarm };

/// The paired comparison with the incumbent, measured in the same A B B A rounds.
struct Comparison {
  double ratio = 1;  ///< incumbent time / candidate time: above 1 the candidate is faster
  double ci_low = 1, ci_high = 1;
  TimeEstimate incumbent;
};

struct Timing {
  std::string problem_id;
  std::string size;  ///< label, e.g. "primary" or "sweep 256x512"
  Problem problem;
  TimeEstimate time;
  std::optional<double> cold_us;  ///< one launch after a flush; nullopt where the device cannot flush
  CacheState l2 = CacheState::kWarm;
  std::optional<double> floor_us;  ///< nullopt until peaks are measured
  double gbps = 0;
  double tflops = 0;
  double peak_gbps = 0;  ///< measured, what the percentages are against; 0: unknown
  double peak_tflops = 0;
  double footprint_bytes = 0;
  std::optional<double> baseline_us;  ///< fastest PyTorch baseline on this device
  std::string baseline;               ///< which: "eager", "fused", "compile"; empty without one
  std::optional<Comparison> versus;   ///< when an incumbent was given
  std::vector<double> rounds_us;      ///< per-round times of the candidate
  std::vector<double> incumbent_rounds_us;
};

/// "cold", "warm".
std::string_view name(CacheState state);
std::optional<CacheState> cache_state_from_name(std::string_view name);

struct Verdict {
  bool passed = false;
  std::map<std::string, std::string> stages;  ///< stage name -> "PASS", "FAIL", "SKIP (reason)"
  std::map<std::string, double> stage_s;      ///< wall time of each stage that ran, seconds
  std::optional<Failure> failure;
  std::vector<std::string> flags;  ///< noticed, not rejected
  std::vector<Timing> timings;
  bool sandboxed = true;
  bool selftest = false;   ///< made with switchable checks: the ledger refuses it
  double worst_error = 0;  ///< largest |y - r| in units of the tolerance
  std::uint64_t peak_memory_bytes = 0;
  double compile_s = 0;
  double wall_s = 0;
  DeviceInfo device;
};

Json to_json(const TimeEstimate& time);
Result<TimeEstimate> time_estimate_from_json(const Json& json, const std::string& what);
Json to_json(const Comparison& comparison);
Result<Comparison> comparison_from_json(const Json& json, const std::string& what);
/// The problem's fields are the timing's own: dims, flags, dtype. `speedup_vs_pytorch` is written for readers
/// (null without a baseline), not read.
Json to_json(const Timing& timing);
Result<Timing> timing_from_json(const Json& json, const std::string& what);
/// With the names that `bench --json` uses: "correctness": "PASS" or "FAIL", "sandbox": "on" or "off".
Json to_json(const Verdict& verdict);
Result<Verdict> verdict_from_json(const Json& json, const std::string& what);

}  // namespace ak
