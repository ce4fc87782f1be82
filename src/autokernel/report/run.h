#pragma once
// One experiment as the report sees it: its trials grouped by config, and the start that it is compared with.
// Private to the library.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/ledger/ledger.h"
#include "autokernel/report/series.h"

namespace ak::report {

/// The rows of one config (one a problem), which were appended together.
struct MeasuredConfig {
  Config config;
  std::vector<ledger::TrialRecord> records;
  std::optional<Failure> failure;  ///< of the first row that failed
};

struct Run {
  Experiment experiment;
  std::vector<MeasuredConfig> configs;        ///< in the order of the ledger
  std::map<std::string, double> calls;        ///< primary problem -> weight
  std::map<std::string, TimeEstimate> start;  ///< primary problem -> time of what it was measured against
  std::optional<Config> start_config;
  std::optional<Experiment> before;  ///< whose kernel `start` is of; nullopt: a start itself

  /// The start's time / the paired ratio, which a drifting clock does not disturb; else the trial's own
  /// median.
  double time_us(const Trial& trial) const;
  /// Sum of calls x time; a problem that the config cannot run costs what the start costs. nullopt: it
  /// failed.
  std::optional<double> objective(const MeasuredConfig& config) const;
  std::optional<double> start_objective() const;
  std::optional<double> best_objective() const;
  std::optional<Config> best_config() const;
};

/// All experiments of a target (and tag, unless empty), by number.
Result<std::vector<Run>> read_runs(const ledger::Ledger& ledger, const Target& target,
                                   const std::string& tag);

/// What a run was measured against: "start", or "experiment 2".
std::string before_name(const Run& run);

/// Progress of a run, config by config.
Series trials_series(const Run& run, const std::string& target);

}  // namespace ak::report
