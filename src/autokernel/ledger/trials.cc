// The trials of a Ledger.

#include <SQLiteCpp/SQLiteCpp.h>

#include <nlohmann/json.hpp>

#include "autokernel/ledger/database.h"
#include "autokernel/ledger/ledger.h"
#include "autokernel/ledger/row_codecs.h"

namespace ak::ledger {

namespace {

void bind_trial(SQLite::Statement& insert, const Trial& trial, const TrialFacts& facts,
                const std::string& now) {
  insert.bind(1, trial.experiment);
  insert.bind(2, trial.problem_id);
  insert.bind(3, json_text(to_json(trial.config)));
  insert.bind(4, trial.passed ? 1 : 0);
  bind_optional(insert, 5, json_text_of(trial.failure));
  if (trial.time) {  // an unbound parameter is NULL
    insert.bind(6, trial.time->median_us);
    insert.bind(7, trial.time->ci_low_us);
    insert.bind(8, trial.time->ci_high_us);
  }
  bind_optional(insert, 9, json_text_of(trial.versus));
  insert.bind(10, trial.peak_memory_bytes);
  insert.bind(11, trial.gbps);
  insert.bind(12, trial.tflops);
  insert.bind(13, trial.compile_s);
  insert.bind(14, trial.wall_s);
  insert.bind(15, trial.recorded_at.empty() ? now : trial.recorded_at);
  insert.bind(16, json_text(to_json(facts)));
}

/// 0 rows were inserted: the experiment is missing or over.
constexpr const char* kInsertTrial =
    "INSERT INTO trials (experiment, problem_id, config, passed, failure, median_us, ci_low_us, ci_high_us, "
    "versus, "
    "peak_memory_bytes, gbps, tflops, compile_s, wall_s, recorded_at, facts) SELECT ?1, ?2, ?3, ?4, ?5, ?6, "
    "?7, ?8, "
    "?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16 WHERE EXISTS (SELECT 1 FROM experiments WHERE id = ?1 AND "
    "decision = "
    "'running')";

}  // namespace

Result<std::int64_t> Ledger::append_trial(const Trial& trial, const Verdict& verdict) {
  if (verdict.selftest) {
    return usage_error("a verdict of the self-test (switched checks) is no measurement: it is not recorded");
  }
  if (trial.passed && !verdict.passed) {
    return internal_error("a trial that passed with a verdict that failed (config {})",
                          trial.config.to_string());
  }
  return insert_trial(trial, facts_of(verdict, trial.problem_id));
}

Result<std::int64_t> Ledger::append_failed_trial(const Trial& trial) {
  if (trial.passed || !trial.failure) {
    return internal_error("a trial that passed needs the verdict that it comes from (config {})",
                          trial.config.to_string());
  }
  return insert_trial(trial, {});
}

Result<std::int64_t> Ledger::insert_trial(const Trial& trial, const TrialFacts& facts) {
  return guarded(state_->path, "cannot record a trial", [&]() -> Result<std::int64_t> {
    SQLite::Statement insert(*state_->database, kInsertTrial);
    bind_trial(insert, trial, facts, state_->now());
    if (insert.exec() == 1) return state_->database->getLastInsertRowid();
    AK_TRY(stored, experiment(trial.experiment));
    return internal_error("a trial for experiment {}, which is finished ({})", stored.id,
                          name(stored.decision));
  });
}

Result<std::vector<TrialRecord>> Ledger::trial_records(std::int64_t experiment) const {
  return guarded(state_->path, "cannot read the trials", [&]() -> Result<std::vector<TrialRecord>> {
    SQLite::Statement query(*state_->database, std::string("SELECT ") + kTrialColumns +
                                                   " FROM trials AS t WHERE t.experiment = ? ORDER BY t.id");
    query.bind(1, experiment);
    std::vector<TrialRecord> records;
    while (query.executeStep()) {
      AK_TRY(record, read_trial(query));
      records.push_back(std::move(record));
    }
    return records;
  });
}

Result<std::vector<Trial>> Ledger::trials(std::int64_t experiment) const {
  AK_TRY(records, trial_records(experiment));
  std::vector<Trial> trials;
  trials.reserve(records.size());
  for (TrialRecord& record : records) trials.push_back(std::move(record.trial));
  return trials;
}

Result<std::vector<Trial>> Ledger::trials_of(const TrialQuery& filter) const {
  return guarded(state_->path, "cannot read the trials", [&]() -> Result<std::vector<Trial>> {
    SQLite::Statement query(
        *state_->database,
        std::string("SELECT ") + kTrialColumns +
            " FROM trials AS t JOIN experiments AS e ON e.id = t.experiment WHERE e.target = ?1 "
            "AND e.kernel_hash = ?2 AND (?3 = '' OR e.device_uuid = ?3) ORDER BY t.id");
    query.bind(1, filter.target);
    query.bind(2, filter.kernel_hash);
    query.bind(3, filter.device_uuid);
    std::vector<Trial> trials;
    while (query.executeStep()) {
      AK_TRY(record, read_trial(query));
      trials.push_back(std::move(record.trial));
    }
    return trials;
  });
}

}  // namespace ak::ledger
