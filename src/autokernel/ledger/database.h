#pragma once
// The one place where SQLite's exceptions become errors with a remedy, and the state behind a Ledger.
// Private to the library: included by its .cc files only.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "autokernel/base/clock.h"
#include "autokernel/base/result.h"
#include "autokernel/ledger/ledger.h"

namespace SQLite {
class Database;
class Statement;
}  // namespace SQLite

namespace ak::ledger {

/// For a handler of SQLite's exceptions: says what failed on which file and what to do (a full disk, a
/// read-only folder, a damaged or foreign file, a lock that is held).
tl::unexpected<Error> handled_exception(const std::filesystem::path& path, std::string_view what);

/// Runs `body` (which returns a Result) and turns SQLite's exceptions into errors.
template <class Body>
auto guarded(const std::filesystem::path& path, std::string_view what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return handled_exception(path, what);
  }
}

/// Opens and checks the file, sets the pragmas, creates or migrates the schema.
Result<std::unique_ptr<SQLite::Database>> open_database(const std::filesystem::path& path, Access access);

struct Ledger::State {
  std::filesystem::path path;
  std::unique_ptr<SQLite::Database> database;
  const Clock* clock;
  bool in_batch = false;

  std::string now() const { return iso_time(clock->wall()); }
};

/// NULL for nullopt.
void bind_optional(SQLite::Statement& statement, int index, const std::optional<std::string>& text);

}  // namespace ak::ledger
