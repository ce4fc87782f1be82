#include "autokernel/campaign/tune.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/campaign/tune_run.h"

namespace ak::campaign {

Result<TuneResult> Tuner::run(const TuneRequest& request, const TuneObserver& observer) {
  auto start = parts_.clock.now();
  TuneRun run(parts_, stop_, request, observer);
  AK_TRY_VOID(run.open());
  AK_TRY(started, run.measure_start());
  if (started) {
    AK_TRY_VOID(run.search());
    AK_TRY_VOID(run.decide());
  }
  TuneResult result = run.take_result();
  result.wall_s = seconds_between(start, parts_.clock.now());
  return result;
}

Json to_json(const TuneResult& result) {
  Json problems = Json::array();
  for (const ProblemWinner& winner : result.problems) {
    problems.push_back({{"id", winner.id},
                        {"problem", winner.problem.label()},
                        {"best", {{"config", to_json(winner.config)}, {"time_us", to_json(winner.time)}}}});
  }
  Json json = {{"schema", 1},
               {"decision", std::string(name(result.decision))},
               {"experiment", result.experiment},
               {"best", {{"config", to_json(result.best_config)}, {"time_us", to_json(result.best_time)}}},
               {"start",
                {{"config", to_json(result.start_config)},
                 {"time_us", to_json(result.start_time)},
                 {"experiment", result.start_experiment}}},
               {"speedup", result.speedup},
               {"trials", result.trials},
               {"resumed_trials", result.resumed_trials},
               {"failed", result.failed},
               {"problems", std::move(problems)},
               {"space", {{"valid", result.space_size}, {"raw", result.raw_size}}},
               {"stopped", result.stop_reason},
               {"interrupted", result.interrupted},
               {"kernel", result.kernel_path},
               {"wall_s", result.wall_s},
               {"device", {{"kind", result.device.kind}, {"name", result.device.name}}}};
  if (result.confirmation) {
    json["confirmation"] = to_json(*result.confirmation);
  }
  if (result.start_failure) {
    json["failure"] = to_json(*result.start_failure);
  }
  return json;
}

}  // namespace ak::campaign
