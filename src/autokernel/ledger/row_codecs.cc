#include "autokernel/ledger/row_codecs.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "autokernel/core/field_reader.h"

namespace ak::ledger {

namespace {

/// A column that is NULL or JSON of a T.
template <class T, class Codec>
Result<std::optional<T>> read_json(const SQLite::Column& column, Codec codec, const std::string& what) {
  if (column.isNull()) return std::optional<T>();
  AK_TRY(json, parse_json(column.getString(), what));
  AK_TRY(value, codec(json, what));
  return std::optional<T>(std::move(value));
}

}  // namespace

std::string json_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<Experiment> read_experiment(SQLite::Statement& row) {
  Experiment e;
  e.id = row.getColumn(0).getInt64();
  const std::string what = fmt::format("ledger, experiment {}", e.id);
  e.target = row.getColumn(1).getString();
  e.tag = row.getColumn(2).getString();
  e.proposer = row.getColumn(3).getString();
  e.description = row.getColumn(4).getString();
  e.kernel_hash = row.getColumn(5).getString();
  e.commit = row.getColumn(6).getString();
  const auto decision = decision_from_name(row.getColumn(7).getString());
  if (!decision) return environment_error("{}: unknown decision '{}'", what, row.getColumn(7).getString());
  e.decision = *decision;
  AK_TRY(config, read_json<Config>(row.getColumn(8), config_from_json, what + ", best_config"));
  e.best_config = std::move(config);
  e.objective_us = row.getColumn(9).getDouble();
  AK_TRY(confirmation,
         read_json<Comparison>(row.getColumn(10), comparison_from_json, what + ", confirmation"));
  e.confirmation = std::move(confirmation);
  e.started_at = row.getColumn(11).getString();
  e.ended_at = row.getColumn(12).getString();
  e.seed = std::strtoull(row.getColumn(13).getText(), nullptr, 10);
  return e;
}

Result<TrialRecord> read_trial(SQLite::Statement& row) {
  TrialRecord record;
  Trial& t = record.trial;
  t.id = row.getColumn(0).getInt64();
  const std::string what = fmt::format("ledger, trial {}", t.id);
  t.experiment = row.getColumn(1).getInt64();
  t.problem_id = row.getColumn(2).getString();
  AK_TRY(config, read_json<Config>(row.getColumn(3), config_from_json, what + ", config"));
  t.config = std::move(*config);
  t.passed = row.getColumn(4).getInt() != 0;
  AK_TRY(failure, read_json<Failure>(row.getColumn(5), failure_from_json, what + ", failure"));
  t.failure = std::move(failure);
  if (!row.getColumn(6).isNull()) {
    t.time = TimeEstimate{row.getColumn(6).getDouble(), row.getColumn(7).getDouble(),
                          row.getColumn(8).getDouble()};
  }
  AK_TRY(versus, read_json<Comparison>(row.getColumn(9), comparison_from_json, what + ", versus"));
  t.versus = std::move(versus);
  t.peak_memory_bytes = row.getColumn(10).getDouble();
  t.gbps = row.getColumn(11).getDouble();
  t.tflops = row.getColumn(12).getDouble();
  t.compile_s = row.getColumn(13).getDouble();
  t.wall_s = row.getColumn(14).getDouble();
  t.recorded_at = row.getColumn(15).getString();
  AK_TRY(facts, read_json<TrialFacts>(row.getColumn(16), trial_facts_from_json, what + ", facts"));
  if (facts) record.facts = std::move(*facts);
  return record;
}

TrialFacts facts_of(const Verdict& verdict, const std::string& problem_id) {
  TrialFacts facts;
  facts.worst_error = verdict.worst_error;
  facts.sandboxed = verdict.sandboxed;
  facts.flags = verdict.flags;
  for (const Timing& timing : verdict.timings) {
    if (timing.problem_id != problem_id) continue;
    facts.peak_gbps = timing.peak_gbps;
    facts.peak_tflops = timing.peak_tflops;
    facts.floor_us = timing.floor_us;
    facts.baseline_us = timing.baseline_us;
    facts.cold_us = timing.cold_us;
    facts.l2 = timing.l2;
    break;
  }
  return facts;
}

Json to_json(const TrialFacts& facts) {
  const auto number = [](const std::optional<double>& value) {
    return value ? json_number(*value) : Json(nullptr);
  };
  return {{"peak_gbps", json_number(facts.peak_gbps)},
          {"peak_tflops", json_number(facts.peak_tflops)},
          {"floor_us", number(facts.floor_us)},
          {"baseline_us", number(facts.baseline_us)},
          {"cold_us", number(facts.cold_us)},
          {"l2", name(facts.l2)},
          {"worst_error", json_number(facts.worst_error)},
          {"sandboxed", facts.sandboxed},
          {"flags", facts.flags}};
}

Result<TrialFacts> trial_facts_from_json(const Json& json, const std::string& what) {
  AK_TRY(in, FieldReader::object(json, what));
  TrialFacts facts;
  in.read("peak_gbps", facts.peak_gbps);
  in.read("peak_tflops", facts.peak_tflops);
  in.read_optional("floor_us", facts.floor_us);
  in.read_optional("baseline_us", facts.baseline_us);
  in.read_optional("cold_us", facts.cold_us);
  in.read_name("l2", facts.l2, cache_state_from_name);
  in.read("worst_error", facts.worst_error);
  in.read("sandboxed", facts.sandboxed);
  in.read("flags", facts.flags);
  return in.finish(std::move(facts));
}

}  // namespace ak::ledger
