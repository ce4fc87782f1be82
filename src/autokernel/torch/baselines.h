#pragma once
// What our kernels are compared with: the times of PyTorch's own ways to compute a problem (eager composed,
// fused op, torch.compile), measured by a child of the user's Python and kept on disk with PyTorch's version.
//
//   torch::Baselines baselines({.python = "python3", .cache = cache_directory()}, device);
//   AK_TRY(known, baselines.find(family, problem));             // nothing is run
//   AK_TRY(measured, baselines.measure({{&family, problem}}));  // seconds to minutes: torch.compile
//   AK_TRY(some, baselines.measure_within(requests, torch::Paths::kEager, 30s));  // what is ready by then

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/core/device_info.h"
#include "autokernel/core/problem.h"
#include "autokernel/core/verdict.h"
#include "autokernel/op/op_family.h"

namespace ak::torch {

struct Baseline {
  std::map<std::string, double> times_us;     ///< path -> median: "eager", "fused", "compile"
  std::map<std::string, std::string> errors;  ///< paths that PyTorch could not run
  std::string torch_version, device_name;
  std::string measured_at;  ///< ISO 8601
  /// The fastest path; nullopt: none could be run.
  std::optional<std::string> fastest() const;
};

Json to_json(const Baseline& baseline);
Result<Baseline> baseline_from_json(const Json& json, const std::string& what);

/// kEager: eager and fused, a second or so; kAll: torch.compile too, which may take a minute a problem.
enum class Paths { kEager, kAll };

struct BaselineOptions {
  std::string python = "python3";
  std::filesystem::path cache;
};

struct BaselineRequest {
  const op::Family* family;
  Problem problem;
};

class Baselines {
 public:
  /// `device` is the one that kernels are measured on; a baseline is good for its UUID only.
  Baselines(BaselineOptions options, DeviceInfo device)
      : options_(std::move(options)), device_(std::move(device)) {}
  /// What was measured before on this device with this Python and this torch.py: all paths, else the eager
  /// ones.
  Result<std::optional<Baseline>> find(const op::Family& family, const Problem& problem) const;
  /// Measures all paths of what is not known yet. kEnvironment: no such Python, no PyTorch in it, PyTorch
  /// sees no GPU or another one than this device, a problem without an answer within ten minutes.
  Result<std::vector<Baseline>> measure(const std::vector<BaselineRequest>& requests) const;
  /// What is not known yet is measured in the order of the requests; at the deadline the child is stopped,
  /// and what it has answered until then is kept. nullopt: no answer.
  Result<std::vector<std::optional<Baseline>>> measure_within(const std::vector<BaselineRequest>& requests,
                                                              Paths paths,
                                                              std::chrono::milliseconds deadline) const;
  /// Gives the timings of a verdict the fastest path that is known for their problems.
  Status annotate(const op::Family& family, Verdict& verdict) const;

 private:
  std::filesystem::path file_of(const op::Family& family, const Problem& problem, Paths paths) const;
  std::optional<Baseline> stored(const op::Family& family, const Problem& problem, Paths paths) const;
  Result<std::vector<Json>> answers_of(const Json& request, std::chrono::milliseconds deadline) const;
  BaselineOptions options_;
  DeviceInfo device_;
};

}  // namespace ak::torch
