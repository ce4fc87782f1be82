#include "autokernel/core/experiment.h"

#include <iterator>
#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"

namespace ak {
namespace {

constexpr std::string_view kDecisions[] = {"running", "kept", "reverted", "ambiguous", "failed", "start"};
static_assert(std::size(kDecisions) == static_cast<std::size_t>(Decision::kStart) + 1);

template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

}  // namespace

std::string_view name(Decision decision) { return kDecisions[static_cast<std::size_t>(decision)]; }

std::optional<Decision> decision_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kDecisions); ++i) {
    if (kDecisions[i] == name) return static_cast<Decision>(i);
  }
  return std::nullopt;
}

Json to_json(const Trial& trial) {
  return {{"schema", kSchema},
          {"id", trial.id},
          {"experiment", trial.experiment},
          {"problem_id", trial.problem_id},
          {"config", to_json(trial.config)},
          {"passed", trial.passed},
          {"failure", optional_json(trial.failure)},
          {"time_us", optional_json(trial.time)},
          {"versus", optional_json(trial.versus)},
          {"peak_memory_bytes", json_number(trial.peak_memory_bytes)},
          {"gbps", json_number(trial.gbps)},
          {"tflops", json_number(trial.tflops)},
          {"compile_s", json_number(trial.compile_s)},
          {"wall_s", json_number(trial.wall_s)},
          {"recorded_at", trial.recorded_at}};
}

Result<Trial> trial_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::top_level(json, what));
  Trial trial;
  in.read("id", trial.id);
  in.read("experiment", trial.experiment);
  in.read("problem_id", trial.problem_id);
  in.read("config", trial.config, config_from_json);
  in.read("passed", trial.passed);
  in.read_optional("failure", trial.failure, failure_from_json);
  in.read_optional("time_us", trial.time, time_estimate_from_json);
  in.read_optional("versus", trial.versus, comparison_from_json);
  in.read("peak_memory_bytes", trial.peak_memory_bytes);
  in.read("gbps", trial.gbps);
  in.read("tflops", trial.tflops);
  in.read("compile_s", trial.compile_s);
  in.read("wall_s", trial.wall_s);
  in.read("recorded_at", trial.recorded_at);
  return in.finish(std::move(trial));
}

Json to_json(const Experiment& experiment) {
  return {{"schema", kSchema},
          {"id", experiment.id},
          {"target", experiment.target},
          {"tag", experiment.tag},
          {"proposer", experiment.proposer},
          {"description", experiment.description},
          {"kernel_hash", experiment.kernel_hash},
          {"commit", experiment.commit},
          {"decision", name(experiment.decision)},
          {"best_config", optional_json(experiment.best_config)},
          {"objective_us", json_number(experiment.objective_us)},
          {"confirmation", optional_json(experiment.confirmation)},
          {"started_at", experiment.started_at},
          {"ended_at", experiment.ended_at},
          {"seed", experiment.seed}};
}

Result<Experiment> experiment_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::top_level(json, what));
  Experiment experiment;
  in.read("id", experiment.id);
  in.read("target", experiment.target);
  in.read("tag", experiment.tag);
  in.read("proposer", experiment.proposer);
  in.read("description", experiment.description);
  in.read("kernel_hash", experiment.kernel_hash);
  in.read("commit", experiment.commit);
  in.read_name("decision", experiment.decision, decision_from_name);
  in.read_optional("best_config", experiment.best_config, config_from_json);
  in.read("objective_us", experiment.objective_us);
  in.read_optional("confirmation", experiment.confirmation, comparison_from_json);
  in.read("started_at", experiment.started_at);
  in.read("ended_at", experiment.ended_at);
  in.read("seed", experiment.seed);
  return in.finish(std::move(experiment));
}

}  // namespace ak
