#pragma once
// The experiment loop on one target with a search strategy: measure the start (or take what earlier
// experiments kept), propose, compile ahead, judge
// in the worker, remember in the ledger, confirm the winner in a fresh worker, keep or revert. One tune run
// is one experiment.
//
//   campaign::Tuner tuner({workspace, pool, registry, clock, log}, stop);
//   AK_TRY(result, tuner.run(request, observer));

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/campaign/parts.h"
#include "autokernel/core/experiment.h"
#include "autokernel/ledger/settings.h"

namespace ak::campaign {

struct TuneRequest {
  std::string tag = "tune";
  Target target;
  std::string target_toml;
  std::string kernel_name;  ///< as the user knows it
  std::string kernel_text;
  std::string strategy = "annealing";
  ledger::Budget budget;
  std::uint64_t seed = 1;
  double threshold = 0.01;   ///< of the keep rule
  std::size_t patience = 0;  ///< trials without improvement; 0: no such rule
  enum class Resume { kContinue, kFresh } resume = Resume::kContinue;
};

struct ProblemWinner {
  std::string id;
  Problem problem;
  Config config;
  TimeEstimate time;
};

struct TuneResult {
  Decision decision = Decision::kReverted;
  std::int64_t experiment = 0;
  std::int64_t start_experiment = 0;  ///< whose kernel was to be beaten: a start, or what was kept before
  Config start_config, best_config;
  TimeEstimate start_time,
      best_time;  ///< of the objective: sum of calls x time; both of the confirmation if there is one
  std::optional<Config> contender;  ///< what was confirmed, kept or not
  double speedup = 1;               ///< confirmed: start / best, from the fresh worker's paired rounds
  std::optional<Comparison> confirmation;
  std::size_t trials = 0;                     ///< configs judged, those of earlier runs included
  std::map<std::string, std::size_t> failed;  ///< kind -> how many
  std::vector<ProblemWinner> problems;
  std::string stop_reason;
  bool every_config_measured = false;  ///< the space is exhausted: another search of this file finds nothing
  std::optional<Failure> start_failure;  ///< the [defaults] do not pass: nothing was searched
  std::optional<Verdict> final_verdict;  ///< of the confirmed winner
  std::string kernel_path;               ///< the workspace's kernel.cu
  std::size_t resumed_trials = 0;
  std::uint64_t space_size = 0, raw_size = 0;
  bool interrupted = false;
  double wall_s = 0;
  DeviceInfo device;
};

/// Called after each config, for progress bars.
struct TuneProgress {
  std::size_t done = 0;
  Config config;
  std::optional<double> objective_us;  ///< nullopt: failed
  std::optional<Failure> failure;
  double best_us = 0, start_us = 0;
};
using TuneObserver = std::function<void(const TuneProgress&)>;

class Tuner {
 public:
  /// `stop` is set by Ctrl-C: the trial in flight ends, the state is saved.
  Tuner(Parts parts, const std::atomic<bool>& stop) : parts_(parts), stop_(stop) {}
  Result<TuneResult> run(const TuneRequest& request, const TuneObserver& observer);

 private:
  Parts parts_;
  const std::atomic<bool>& stop_;
};

Json to_json(const TuneResult& result);

}  // namespace ak::campaign
