#include "autokernel/ledger/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "autokernel/ledger/schema.h"

namespace ak::ledger {

namespace {

constexpr int kBusyTimeoutMs = 10'000;

tl::unexpected<Error> foreign_file(const std::filesystem::path& path, std::string_view found) {
  return usage_error(
      "{} is no AutoKernel ledger ({}): move it away or choose another folder with --workspace",
      path.string(), found);
}

int pragma_int(SQLite::Database& database, const char* pragma) {
  SQLite::Statement statement(database, pragma);
  return statement.executeStep() ? statement.getColumn(0).getInt() : 0;
}

/// Read-write: a file that was never finished (killed while it was created) is as good as a new one.
Status check_identity(SQLite::Database& database, const std::filesystem::path& path, Access access) {
  const int application = pragma_int(database, "PRAGMA application_id");
  const int version = pragma_int(database, "PRAGMA user_version");
  const bool empty = pragma_int(database, "SELECT count(*) FROM sqlite_master") == 0;
  if (empty && application == 0) {
    if (access == Access::kReadWrite) return {};
    return usage_error("{} holds nothing yet: run autokernel tune first", path.string());
  }
  if (application != kApplicationId) return foreign_file(path, "a database of another program");
  if (version > schema_version()) {
    return usage_error(
        "{} has schema {}, this autokernel knows up to {}: use the newer autokernel that wrote it, "
        "or another folder with --workspace",
        path.string(), version, schema_version());
  }
  if (version < schema_version() && access == Access::kReadOnly) {
    return usage_error("{} has the older schema {}: any command that writes (autokernel tune) migrates it",
                       path.string(), version);
  }
  return {};
}

void migrate(SQLite::Database& database) {
  // One transaction: a crash leaves the old version or the new one.
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  const int from = pragma_int(database, "PRAGMA user_version");
  for (int version = from; version < schema_version(); ++version) {
    database.exec(migrations()[static_cast<std::size_t>(version)]);
  }
  if (from < schema_version()) {
    database.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
    database.exec("PRAGMA user_version = " + std::to_string(schema_version()));
  }
  transaction.commit();
}

Status check_pages(SQLite::Database& database, const std::filesystem::path& path) {
  SQLite::Statement statement(database, "PRAGMA quick_check(1)");
  const std::string answer = statement.executeStep() ? statement.getColumn(0).getString() : "no answer";
  if (answer == "ok") return {};
  return environment_error(
      "{} is damaged ({}): restore a copy, or save what can be read with `sqlite3 {} .recover`; moving it "
      "away "
      "or another --workspace starts anew",
      path.string(), answer, path.string());
}

/// '?', '#' and '%' mean something in a URI.
std::string uri_path(const std::filesystem::path& path) {
  std::string result;
  for (char c : path.string()) {
    if (c == '?' || c == '#' || c == '%') {
      result += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::unique_ptr<SQLite::Database> open_read_only(const std::filesystem::path& path) {
  // A log left by the writer needs its index file; where the folder cannot be written and there is no log,
  // the file cannot change either.
  const bool log = std::filesystem::exists(path.string() + "-wal");
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  if (!log && ::faccessat(AT_FDCWD, absolute.parent_path().c_str(), W_OK, AT_EACCESS) != 0) {
    const std::string uri = "file:" + uri_path(absolute) + "?immutable=1";
    return std::make_unique<SQLite::Database>(uri, SQLite::OPEN_READONLY | SQLite::OPEN_URI, kBusyTimeoutMs);
  }
  return std::make_unique<SQLite::Database>(path.string(), SQLite::OPEN_READONLY, kBusyTimeoutMs);
}

}  // namespace

namespace {

tl::unexpected<Error> database_error(const SQLite::Exception& exception, const std::filesystem::path& path,
                                     std::string_view what) {
  const std::string file = path.string();
  switch (exception.getErrorCode()) {
    case SQLITE_NOTADB:
      return foreign_file(path, "not a database, or encrypted");
    case SQLITE_CORRUPT:
      return environment_error(
          "{}: {} is damaged: restore a copy, or save what can be read with `sqlite3 {} .recover`; moving it "
          "away or another --workspace starts anew",
          what, file, file);
    case SQLITE_FULL:
      return environment_error(
          "{}: the disk that holds {} is full; nothing that was recorded is lost: free some "
          "space and run the same command again",
          what, file);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return environment_error(
          "{}: {} cannot be opened for writing ({}): check the permissions of its folder or "
          "choose another one with --workspace",
          what, file, exception.what());
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return environment_error(
          "{}: {} is held by another program ({}): end it, then run the same command again", what, file,
          exception.what());
    case SQLITE_IOERR:
      return environment_error(
          "{}: cannot read or write {} ({}; a full disk, a quota or a failing one): nothing that "
          "was recorded is lost; make room and run the same command again",
          what, file, exception.what());
    default:
      return internal_error("{}: {}: {}", what, file, exception.what());
  }
}

}  // namespace

tl::unexpected<Error> handled_exception(const std::filesystem::path& path, std::string_view what) {
  try {
    throw;
  } catch (const SQLite::Exception& exception) {
    return database_error(exception, path, what);
  } catch (const std::exception& exception) {
    return internal_error("{}: {}: {}", what, path.string(), exception.what());
  }
}

void bind_optional(SQLite::Statement& statement, int index, const std::optional<std::string>& text) {
  if (text) {
    statement.bind(index, *text);
  } else {
    statement.bind(index);
  }
}

Result<std::unique_ptr<SQLite::Database>> open_database(const std::filesystem::path& path, Access access) {
  using Opened = Result<std::unique_ptr<SQLite::Database>>;
  return guarded(path, "cannot open the ledger", [&]() -> Opened {
    std::error_code error;
    if (access == Access::kReadOnly && !std::filesystem::exists(path, error)) {
      return usage_error(
          "{} does not exist: nothing was recorded here yet (autokernel tune writes it; "
          "--workspace names another folder)",
          path.string());
    }
    if (std::filesystem::is_directory(path, error)) return foreign_file(path, "a folder");
    auto database = access == Access::kReadOnly
                        ? open_read_only(path)
                        : std::make_unique<SQLite::Database>(
                              path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs);
    AK_TRY_VOID(check_identity(*database, path, access));
    if (access == Access::kReadOnly) return Opened(std::move(database));
    database->exec("PRAGMA journal_mode = WAL");
    database->exec("PRAGMA synchronous = NORMAL");
    AK_TRY_VOID(check_pages(*database, path));
    migrate(*database);
    database->exec("PRAGMA foreign_keys = ON");
    return Opened(std::move(database));
  });
}

}  // namespace ak::ledger
