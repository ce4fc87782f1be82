// What a user may find instead of a healthy ledger: foreign, damaged, newer and unwritable files, a full
// disk.

#include <SQLiteCpp/SQLiteCpp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "autokernel/ledger/schema.h"
#include "fixtures.h"

namespace ak::ledger {
namespace {

using ::testing::HasSubstr;

class BadFiles : public LedgerFixture {
 protected:
  Error error_of_open(Access access = Access::kReadWrite) {
    const auto ledger = Ledger::open(file(), access, clock_);
    EXPECT_FALSE(ledger);
    return ledger ? Error{} : ledger.error();
  }
};

TEST_F(BadFiles, ATextFileIsRefusedWithTheRemedy) {
  std::ofstream(file()) << std::string(4096, 'x');
  const Error error = error_of_open();
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_THAT(error.message, HasSubstr("no AutoKernel ledger"));
  EXPECT_THAT(error.message, HasSubstr("--workspace"));
}

TEST_F(BadFiles, ADatabaseOfAnotherProgramIsRefusedAndLeftAsItWas) {
  {
    SQLite::Database other(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE bookmarks (url TEXT)");
  }
  EXPECT_THAT(error_of_open().message, HasSubstr("another program"));
  SQLite::Database other(file().string());
  EXPECT_TRUE(other.tableExists("bookmarks"));
  EXPECT_FALSE(other.tableExists("trials"));
}

TEST_F(BadFiles, ANewerSchemaAsksForTheNewerProgram) {
  {
    Ledger ledger = open();
  }
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 99");
  EXPECT_THAT(error_of_open().message, HasSubstr("schema 99"));
  EXPECT_THAT(error_of_open(Access::kReadOnly).message, HasSubstr("newer autokernel"));
}

TEST_F(BadFiles, AFileThatWasCreatedButNeverFilledIsTakenAsNew) {
  std::ofstream(file()).flush();
  EXPECT_TRUE(open().experiments()->empty());
}

TEST_F(BadFiles, AReaderOfAMissingOrEmptyLedgerIsToldWhatMakesOne) {
  EXPECT_THAT(error_of_open(Access::kReadOnly).message, HasSubstr("autokernel tune"));
  EXPECT_FALSE(std::filesystem::exists(file()));
  std::ofstream(file()).flush();
  EXPECT_THAT(error_of_open(Access::kReadOnly).message, HasSubstr("holds nothing yet"));
}

TEST_F(BadFiles, AFolderInItsPlaceIsRefused) {
  std::filesystem::create_directory(file());
  EXPECT_THAT(error_of_open().message, HasSubstr("a folder"));
}

TEST_F(BadFiles, DamagedPagesAreFoundOnOpen) {
  {
    Ledger ledger = open_with_experiment();
    for (int i = 0; i < 200; ++i) {
      const Trial t = passed_trial(1, i, 10);
      ASSERT_TRUE(ledger.append_trial(t, verdict_for(t)));
    }
  }
  {
    std::fstream stream(file(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(4096);
    stream << std::string(static_cast<std::size_t>(std::filesystem::file_size(file())) - 4096, '\x5a');
  }
  const Error error = error_of_open();
  EXPECT_EQ(error.code, ErrorCode::kEnvironment);
  EXPECT_THAT(error.message, HasSubstr("damaged"));
  EXPECT_THAT(error.message, HasSubstr(".recover"));
}

TEST_F(BadFiles, AMissingFolderIsAnEnvironmentErrorThatNamesIt) {
  const auto ledger = Ledger::open("/proc/none/ledger.db", Access::kReadWrite, clock_);
  ASSERT_FALSE(ledger);
  EXPECT_EQ(ledger.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(ledger.error().message, HasSubstr("/proc/none/ledger.db"));
}

/// Permissions do not bind root: there the test acts as nobody for a while.
class AsNobody {
 public:
  AsNobody() {
    if (was_root_) changed_ = ::seteuid(65534) == 0;
  }
  ~AsNobody() {
    if (changed_) [[maybe_unused]]
      const int back = ::seteuid(0);
  }
  bool unprivileged() const { return changed_ || !was_root_; }

 private:
  bool was_root_ = ::geteuid() == 0;
  bool changed_ = false;
};

TEST_F(BadFiles, AReadOnlyFolderCanStillBeRead) {
  {
    Ledger ledger = open_with_experiment();
  }
  ASSERT_EQ(::chmod(folder_->path().c_str(), 0555), 0);
  {
    const AsNobody nobody;
    ASSERT_TRUE(nobody.unprivileged());
    EXPECT_EQ(open(Access::kReadOnly).experiments()->size(), 1u);
    const Error error = error_of_open();
    EXPECT_EQ(error.code, ErrorCode::kEnvironment);
    EXPECT_THAT(error.message, HasSubstr("permissions"));
  }
  ::chmod(folder_->path().c_str(), 0755);
}

/// Writes beyond this size of a file fail as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  sighandler_t old_handler_;
};

TEST_F(BadFiles, AFullDiskIsAnErrorAndLosesNothingThatWasRecorded) {
  std::size_t recorded = 0;
  {
    Ledger ledger = open_with_experiment();
    const FileSizeLimit full(200 << 10);
    Result<std::int64_t> last = std::int64_t{0};
    for (int i = 0; i < 5000 && last; ++i) {
      const Trial t = passed_trial(1, i, 10);
      last = ledger.append_trial(t, verdict_for(t));
      if (last) ++recorded;
    }
    ASSERT_FALSE(last);
    EXPECT_EQ(last.error().code, ErrorCode::kEnvironment);
    EXPECT_THAT(last.error().message, HasSubstr("nothing that was recorded is lost"));
  }
  ASSERT_GT(recorded, 10u);
  Ledger again = open();
  EXPECT_EQ(again.trials(1)->size(), recorded);
  const Trial t = passed_trial(1, 9999, 10);
  EXPECT_TRUE(again.append_trial(t, verdict_for(t)));
}

}  // namespace
}  // namespace ak::ledger
