#pragma once
// The one place where SQLite's exceptions become errors with a remedy, and the state behind a Ledger.
// Private to the library: included by its .cc files only.

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>

#include "autokernel/base/clock.h"
#include "autokernel/base/result.h"
#include "autokernel/ledger/ledger.h"

namespace ak::ledger {

/// Says what failed on which file and what to do: a full disk, a read-only folder, a damaged or foreign file,
/// a lock that is held.
tl::unexpected<Error> database_error(const SQLite::Exception& exception, const std::filesystem::path& path,
                                     std::string_view what);

/// Runs `body` (which returns a Result) and turns SQLite's exceptions into errors.
template <class Body>
auto guarded(const std::filesystem::path& path, std::string_view what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const SQLite::Exception& exception) {
    return database_error(exception, path, what);
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

inline void bind_optional(SQLite::Statement& statement, int index, const std::optional<std::string>& text) {
  if (text) {
    statement.bind(index, *text);
  } else {
    statement.bind(index);
  }
}

}  // namespace ak::ledger
