#pragma once
// What the harness is asked: one candidate on one target, to a depth, against an incumbent or alone.

#include <cstdint>
#include <optional>
#include <string>

#include "autokernel/base/json.h"
#include "autokernel/core/config.h"
#include "autokernel/core/problem.h"

namespace ak::harness {

/// A kernel file and a config of it; the text travels, never a path.
struct CandidateText {
  std::string name;  ///< for messages
  std::string text;
  Config config;
};

enum class Depth {
  kSmoke,  ///< smallest sizes only, no timing (`bench --quick`)
  kTrial,  ///< one problem and a few hidden shapes, then its time (a sweep of configs)
  kFull,   ///< all sizes, dtypes and draws: what is to be kept
};

struct Job {
  Target target;
  CandidateText candidate;
  std::optional<CandidateText> incumbent;  ///< timed in the same A B B A rounds
  Depth depth = Depth::kFull;
  std::uint64_t seed = 0;      ///< secret; drawn by the parent, fresh for each job
  double time_budget_s = 0.3;  ///< of timed rounds, for each primary problem
};

std::string_view name(Depth depth);
Json to_json(const Job& job);
Result<Job> job_from_json(const Json& json, const std::string& what);

}  // namespace ak::harness
