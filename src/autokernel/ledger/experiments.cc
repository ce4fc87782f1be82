// The experiments of a Ledger.

#include <SQLiteCpp/SQLiteCpp.h>

#include <nlohmann/json.hpp>

#include "autokernel/ledger/database.h"
#include "autokernel/ledger/ledger.h"
#include "autokernel/ledger/row_codecs.h"

namespace ak::ledger {

namespace {

tl::unexpected<Error> no_experiment(std::int64_t id) {
  return usage_error("there is no experiment {}: autokernel log lists them", id);
}

bool has_row(SQLite::Database& database, const char* query_text, const std::string& key) {
  SQLite::Statement query(database, query_text);
  query.bind(1, key);
  return query.executeStep();
}

Result<std::vector<Experiment>> read_all(SQLite::Statement& query) {
  std::vector<Experiment> experiments;
  while (query.executeStep()) {
    AK_TRY(experiment, read_experiment(query));
    experiments.push_back(std::move(experiment));
  }
  return experiments;
}

/// Hands columns of one experiment to `read`, which returns a Result.
template <class Read>
auto read_columns(SQLite::Database& database, const std::string& columns, std::int64_t id, Read&& read)
    -> decltype(read(std::declval<SQLite::Statement&>())) {
  SQLite::Statement query(database, "SELECT " + columns + " FROM experiments WHERE id = ?");
  query.bind(1, id);
  if (!query.executeStep()) return no_experiment(id);
  return read(query);
}

}  // namespace

Result<std::int64_t> Ledger::begin_experiment(const Experiment& experiment, const RunContext& context) {
  return guarded(state_->path, "cannot begin an experiment", [&]() -> Result<std::int64_t> {
    SQLite::Database& database = *state_->database;
    if (!has_row(database, "SELECT 1 FROM targets WHERE id = ?", experiment.target)) {
      return internal_error("an experiment on the target '{}', which the ledger does not know",
                            experiment.target);
    }
    if (!has_row(database, "SELECT 1 FROM kernels WHERE hash = ?", experiment.kernel_hash)) {
      return internal_error("an experiment on the kernel '{}', which the ledger does not know",
                            experiment.kernel_hash);
    }
    SQLite::Statement insert(
        database,
        "INSERT INTO experiments (target, tag, proposer, description, kernel_hash, result_hash, "
        "decision, started_at, seed, device, device_uuid, compiler, version, sandboxed) VALUES "
        "(?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(1, experiment.target);
    insert.bind(2, experiment.tag);
    insert.bind(3, experiment.proposer);
    insert.bind(4, experiment.description);
    insert.bind(5, experiment.kernel_hash);
    insert.bind(6, experiment.kernel_hash);
    insert.bind(7, experiment.started_at.empty() ? state_->now() : experiment.started_at);
    insert.bind(8, std::to_string(experiment.seed));
    insert.bind(9, json_text(to_json(context.device)));
    insert.bind(10, context.device.uuid);
    insert.bind(11, context.compiler);
    insert.bind(12, context.version);
    insert.bind(13, context.sandboxed ? 1 : 0);
    insert.exec();
    return database.getLastInsertRowid();
  });
}

Status Ledger::finish_experiment(const Experiment& experiment, const std::string& result_hash) {
  if (experiment.decision == Decision::kRunning) {
    return internal_error("experiment {} was finished without a decision", experiment.id);
  }
  return guarded(state_->path, "cannot finish an experiment", [&]() -> Status {
    SQLite::Database& database = *state_->database;
    SQLite::Statement update(
        database,
        "UPDATE experiments SET decision = ?, best_config = ?, objective_us = ?, confirmation = ?, commit_id "
        "= ?, "
        "description = ?, ended_at = ?, result_hash = CASE ?8 WHEN '' THEN kernel_hash ELSE ?8 END "
        "WHERE id = ?9 AND decision = 'running'");
    update.bind(1, std::string(name(experiment.decision)));
    bind_optional(update, 2, json_text_of(experiment.best_config));
    update.bind(3, experiment.objective_us);
    bind_optional(update, 4, json_text_of(experiment.confirmation));
    update.bind(5, experiment.commit);
    update.bind(6, experiment.description);
    update.bind(7, experiment.ended_at.empty() ? state_->now() : experiment.ended_at);
    update.bind(8, result_hash);
    update.bind(9, experiment.id);
    if (update.exec() == 1) {
      // The log is written through to the disk here, so that a power cut keeps every finished experiment.
      if (!state_->in_batch) database.tryExec("PRAGMA wal_checkpoint(PASSIVE)");
      return {};
    }
    AK_TRY(stored, this->experiment(experiment.id));
    return internal_error("experiment {} is finished already ({})", experiment.id, name(stored.decision));
  });
}

Status Ledger::attach_verdict(std::int64_t experiment, const Verdict& verdict) {
  if (verdict.selftest) {
    return usage_error("a verdict of the self-test (switched checks) is no measurement: it is not recorded");
  }
  return guarded(state_->path, "cannot store a verdict", [&]() -> Status {
    SQLite::Statement update(*state_->database, "UPDATE experiments SET verdict = ? WHERE id = ?");
    update.bind(1, json_text(to_json(verdict)));
    update.bind(2, experiment);
    if (update.exec() != 1) return no_experiment(experiment);
    return {};
  });
}

Status Ledger::set_commit(std::int64_t experiment, const std::string& commit) {
  return guarded(state_->path, "cannot store a commit", [&]() -> Status {
    SQLite::Statement update(*state_->database, "UPDATE experiments SET commit_id = ? WHERE id = ?");
    update.bind(1, commit);
    update.bind(2, experiment);
    if (update.exec() != 1) return no_experiment(experiment);
    return {};
  });
}

Result<Experiment> Ledger::experiment(std::int64_t id) const {
  return guarded(state_->path, "cannot read an experiment",
                 [&] { return read_columns(*state_->database, kExperimentColumns, id, read_experiment); });
}

Result<RunContext> Ledger::context(std::int64_t experiment) const {
  const auto read = [&](SQLite::Statement& row) -> Result<RunContext> {
    const std::string what = fmt::format("ledger, experiment {}, device", experiment);
    AK_TRY(json, parse_json(row.getColumn(0).getString(), what));
    AK_TRY(device, device_info_from_json(json, what));
    return RunContext{std::move(device), row.getColumn(1).getString(), row.getColumn(2).getString(),
                      row.getColumn(3).getInt() != 0};
  };
  return guarded(state_->path, "cannot read an experiment", [&] {
    return read_columns(*state_->database, "device, compiler, version, sandboxed", experiment, read);
  });
}

Result<std::optional<Verdict>> Ledger::verdict(std::int64_t experiment) const {
  const auto read = [&](SQLite::Statement& row) -> Result<std::optional<Verdict>> {
    if (row.getColumn(0).isNull()) return std::optional<Verdict>();
    const std::string what = fmt::format("ledger, experiment {}, verdict", experiment);
    AK_TRY(json, parse_json(row.getColumn(0).getString(), what));
    AK_TRY(verdict, verdict_from_json(json, what));
    return std::optional<Verdict>(std::move(verdict));
  };
  return guarded(state_->path, "cannot read a verdict",
                 [&] { return read_columns(*state_->database, "verdict", experiment, read); });
}

Result<std::string> Ledger::result_hash(std::int64_t experiment) const {
  const auto read = [](SQLite::Statement& row) -> Result<std::string> {
    return row.getColumn(0).getString();
  };
  return guarded(state_->path, "cannot read an experiment",
                 [&] { return read_columns(*state_->database, "result_hash", experiment, read); });
}

Result<std::vector<Experiment>> Ledger::experiments(const ExperimentQuery& filter) const {
  return guarded(state_->path, "cannot read the experiments", [&]() -> Result<std::vector<Experiment>> {
    SQLite::Statement query(*state_->database,
                            std::string("SELECT ") + kExperimentColumns +
                                " FROM experiments WHERE (?1 = '' OR target = ?1) AND (?2 = '' OR "
                                "tag = ?2) ORDER BY id");
    query.bind(1, filter.target);
    query.bind(2, filter.tag);
    return read_all(query);
  });
}

Result<std::vector<Experiment>> Ledger::unfinished(const ExperimentQuery& filter) const {
  AK_TRY(all, experiments(filter));
  std::erase_if(all, [](const Experiment& e) { return e.decision != Decision::kRunning; });
  return all;
}

Result<std::optional<Experiment>> Ledger::incumbent_before(const Experiment& experiment) const {
  if (experiment.decision == Decision::kStart) return std::optional<Experiment>();
  AK_TRY(all, experiments({experiment.target, experiment.tag}));
  std::optional<Experiment> found;
  for (Experiment& each : all) {
    const bool advanced = each.decision == Decision::kStart || each.decision == Decision::kKept;
    if (each.id < experiment.id && advanced) found = std::move(each);
  }
  return found;
}

Result<std::optional<Experiment>> Ledger::incumbent(const std::string& target, const std::string& tag) const {
  using Found = std::optional<Experiment>;
  return guarded(state_->path, "cannot read the experiments", [&]() -> Result<Found> {
    SQLite::Statement query(
        *state_->database,
        std::string("SELECT ") + kExperimentColumns +
            " FROM experiments WHERE target = ?1 AND (?2 = '' OR tag = ?2) AND decision IN "
            "('kept', 'start') ORDER BY id DESC LIMIT 1");
    query.bind(1, target);
    query.bind(2, tag);
    if (!query.executeStep()) return Found();
    AK_TRY(experiment, read_experiment(query));
    return Found(std::move(experiment));
  });
}

}  // namespace ak::ledger
