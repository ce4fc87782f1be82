#include "autokernel/ledger/ledger.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <nlohmann/json.hpp>

#include "autokernel/ledger/database.h"
#include "autokernel/ledger/row_codecs.h"

namespace ak::ledger {

Ledger::Ledger(std::unique_ptr<State> state) : state_(std::move(state)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

const std::filesystem::path& Ledger::path() const { return state_->path; }

Result<Ledger> Ledger::open(const std::filesystem::path& path, Access access, const Clock& clock) {
  AK_TRY(database, open_database(path, access));
  return Ledger(std::make_unique<State>(State{path, std::move(database), &clock}));
}

Result<Ledger::Batch> Ledger::batch() {
  AK_CHECK(!state_->in_batch);
  return guarded(state_->path, "cannot write the ledger", [&]() -> Result<Batch> {
    state_->database->exec("BEGIN IMMEDIATE");
    state_->in_batch = true;
    return Batch(*state_);
  });
}

Ledger::Batch::Batch(Batch&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}

Status Ledger::Batch::commit() {
  AK_CHECK(state_ != nullptr);
  // On a failure (a full disk) the destructor rolls back what is left of the transaction.
  return guarded(state_->path, "cannot write the ledger", [&]() -> Status {
    state_->database->exec("COMMIT");
    state_->in_batch = false;
    state_ = nullptr;
    return {};
  });
}

Ledger::Batch::~Batch() {
  if (state_ == nullptr) return;
  state_->in_batch = false;
  state_->database->tryExec("ROLLBACK");  // fails only when SQLite has rolled back by itself
}

Status Ledger::put_kernel(const std::string& hash, std::string_view text) {
  return guarded(state_->path, "cannot store a kernel", [&]() -> Status {
    SQLite::Statement insert(*state_->database,
                             "INSERT INTO kernels (hash, text) VALUES (?, ?) ON CONFLICT DO NOTHING");
    insert.bind(1, hash);
    insert.bind(2, std::string(text));
    if (insert.exec() > 0) return {};
    AK_TRY(stored, kernel_text(hash));
    if (stored == text) return {};
    return internal_error("two kernel texts have the hash {}", hash);
  });
}

Result<std::string> Ledger::kernel_text(const std::string& hash) const {
  return guarded(state_->path, "cannot read a kernel", [&]() -> Result<std::string> {
    SQLite::Statement query(*state_->database, "SELECT text FROM kernels WHERE hash = ?");
    query.bind(1, hash);
    if (!query.executeStep()) return usage_error("the ledger knows no kernel with the hash '{}'", hash);
    return query.getColumn(0).getString();
  });
}

Status Ledger::put_target(const Target& target, std::string_view toml) {
  return guarded(state_->path, "cannot store a target", [&]() -> Status {
    SQLite::Statement insert(
        *state_->database,
        "INSERT INTO targets (id, target, toml) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "target = excluded.target, toml = excluded.toml");
    insert.bind(1, target.id);
    insert.bind(2, json_text(to_json(target)));
    insert.bind(3, std::string(toml));
    insert.exec();
    return {};
  });
}

Result<Target> Ledger::target(const std::string& id) const {
  return guarded(state_->path, "cannot read a target", [&]() -> Result<Target> {
    SQLite::Statement query(*state_->database, "SELECT target FROM targets WHERE id = ?");
    query.bind(1, id);
    if (!query.executeStep()) return usage_error("the ledger knows no target '{}'", id);
    const std::string what = fmt::format("ledger, target {}", id);
    AK_TRY(json, parse_json(query.getColumn(0).getString(), what));
    return target_from_json(json, what);
  });
}

Result<std::string> Ledger::target_toml(const std::string& id) const {
  return guarded(state_->path, "cannot read a target", [&]() -> Result<std::string> {
    SQLite::Statement query(*state_->database, "SELECT toml FROM targets WHERE id = ?");
    query.bind(1, id);
    if (!query.executeStep()) return usage_error("the ledger knows no target '{}'", id);
    return query.getColumn(0).getString();
  });
}

Result<std::vector<std::string>> Ledger::target_ids() const {
  return guarded(state_->path, "cannot read the targets", [&]() -> Result<std::vector<std::string>> {
    SQLite::Statement query(*state_->database, "SELECT id FROM targets ORDER BY number");
    std::vector<std::string> ids;
    while (query.executeStep()) ids.push_back(query.getColumn(0).getString());
    return ids;
  });
}

Status Ledger::set_state(const std::string& key, std::string_view value) {
  return guarded(state_->path, "cannot store the state", [&]() -> Status {
    SQLite::Statement insert(
        *state_->database,
        "INSERT INTO state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = "
        "excluded.value");
    insert.bind(1, key);
    insert.bind(2, std::string(value));
    insert.exec();
    return {};
  });
}

Result<std::optional<std::string>> Ledger::get_state(const std::string& key) const {
  using Value = std::optional<std::string>;
  return guarded(state_->path, "cannot read the state", [&]() -> Result<Value> {
    SQLite::Statement query(*state_->database, "SELECT value FROM state WHERE key = ?");
    query.bind(1, key);
    if (!query.executeStep()) return Value();
    return Value(query.getColumn(0).getString());
  });
}

Status Ledger::erase_state(const std::string& key) {
  return guarded(state_->path, "cannot erase a state", [&]() -> Status {
    SQLite::Statement erase(*state_->database, "DELETE FROM state WHERE key = ?");
    erase.bind(1, key);
    erase.exec();
    return {};
  });
}

}  // namespace ak::ledger
