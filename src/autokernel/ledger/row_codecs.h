#pragma once
// Rows of the tables <-> core's values. Private to the library.

#include <optional>
#include <string>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"
#include "autokernel/ledger/ledger.h"

namespace SQLite {
class Statement;
}

namespace ak::ledger {

/// JSON as one line of UTF-8; bytes that are none (a kernel's output) become U+FFFD.
std::string json_text(const Json& json);
template <class T>
std::optional<std::string> json_text_of(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return json_text(to_json(*value));
}

inline constexpr const char* kExperimentColumns =
    "id, target, tag, proposer, description, kernel_hash, commit_id, decision, best_config, objective_us, "
    "confirmation, started_at, ended_at, seed";
inline constexpr const char* kTrialColumns =
    "t.id, t.experiment, t.problem_id, t.config, t.passed, t.failure, t.median_us, t.ci_low_us, "
    "t.ci_high_us, "
    "t.versus, t.peak_memory_bytes, t.gbps, t.tflops, t.compile_s, t.wall_s, t.recorded_at, t.facts";

/// The statement stands on a row of exactly those columns. Errors name the row: a ledger that was edited by
/// hand.
Result<Experiment> read_experiment(SQLite::Statement& row);
Result<TrialRecord> read_trial(SQLite::Statement& row);

TrialFacts facts_of(const Verdict& verdict, const std::string& problem_id);
Json to_json(const TrialFacts& facts);
Result<TrialFacts> trial_facts_from_json(const Json& json, const std::string& what);

}  // namespace ak::ledger
