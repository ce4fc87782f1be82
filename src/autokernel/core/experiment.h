#pragma once
// Rows of the ledger: an experiment is one change to the kernel file (or one tune run) with its trials; a
// trial is one config measured on one problem.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "autokernel/base/json.h"
#include "autokernel/core/config.h"
#include "autokernel/core/failure.h"
#include "autokernel/core/verdict.h"

namespace ak {

struct Trial {
  std::int64_t id = 0;  ///< set by the ledger
  std::int64_t experiment = 0;
  std::string problem_id;
  Config config;
  bool passed = false;
  std::optional<Failure> failure;
  std::optional<TimeEstimate> time;  ///< nullopt: failed, or not timed
  std::optional<Comparison> versus;
  double peak_memory_bytes = 0;
  double gbps = 0, tflops = 0;
  double compile_s = 0;
  double wall_s = 0;        ///< what the trial cost in all
  std::string recorded_at;  ///< ISO 8601
};

enum class Decision { kRunning, kKept, kReverted, kAmbiguous, kFailed, kStart };
std::string_view name(Decision decision);  ///< "running", "kept", ...
std::optional<Decision> decision_from_name(std::string_view name);

inline constexpr std::string_view kStartProposer = "start";
inline constexpr std::string_view kEditProposer = "edit";

struct Experiment {
  std::int64_t id = 0;  ///< number shown to users, from 1, set by the ledger
  std::string target;
  std::string tag;          ///< campaign tag
  std::string proposer;     ///< "start", "edit" (of a person or an agent), "tune:annealing"
  std::string description;  ///< one line
  std::string kernel_hash;
  std::string commit;  ///< git object id; empty until committed
  Decision decision = Decision::kRunning;
  std::optional<Config> best_config;
  double objective_us = 0;                 ///< sum of calls x time; 0 unknown
  std::optional<Comparison> confirmation;  ///< what is quoted (winner's curse)
  std::string started_at, ended_at;
  std::uint64_t seed = 0;
};

Json to_json(const Trial& trial);
Result<Trial> trial_from_json(const Json& json, const std::string& what);
Json to_json(const Experiment& experiment);
Result<Experiment> experiment_from_json(const Json& json, const std::string& what);

}  // namespace ak
