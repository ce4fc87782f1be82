#include "autokernel/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

namespace ak {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class FileTest : public testing::Test {
 protected:
  fs::path at(std::string_view name) const { return folder_.path() / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  TempDir folder_ = *TempDir::create("ak-file-test");
};

/// Sets a variable of the environment until the end of the scope.
class ScopedVariable {
 public:
  ScopedVariable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_ ? old_->c_str() : nullptr); }

 private:
  void set(const char* value) const {
    value == nullptr ? ::unsetenv(name_.c_str()) : ::setenv(name_.c_str(), value, 1);
  }
  std::string name_;
  std::optional<std::string> old_;
};

/// What `body` returns in a child process, which may change limits, users and mounts.
std::string in_child(const std::function<std::string()>& body) {
  int pipe[2];
  EXPECT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string text = body();
    (void)!::write(pipe[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(pipe[0], text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return text;
}

std::string message_of(const Status& status) { return status ? "no error" : status.error().message; }

TEST_F(FileTest, AWrittenFileIsReadBack) {
  const std::string content("line\n\0\xff end", 11);
  ASSERT_TRUE(write_file_atomic(at("a"), content).has_value());
  EXPECT_EQ(*read_file(at("a")), content);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, AnEmptyFileIsReadBack) {
  ASSERT_TRUE(write_file_atomic(at("a"), "").has_value());
  EXPECT_EQ(*read_file(at("a")), "");
}

TEST_F(FileTest, AMissingFileIsAnErrorWithItsName) {
  const auto result = read_file(at("gone"));
  EXPECT_EQ(result.error().message, "cannot read " + at("gone").string() + ": No such file or directory");
  EXPECT_EQ(result.error().code, ErrorCode::kEnvironment);
}

TEST_F(FileTest, AFolderIsNotRead) {
  EXPECT_THAT(read_file(folder_.path()).error().message, HasSubstr("it is a folder"));
}

TEST_F(FileTest, AFileBeyondTheLimitIsNotRead) {
  ASSERT_TRUE(write_file_atomic(at("a"), "12345").has_value());
  EXPECT_EQ(*read_file(at("a"), 5), "12345");
  EXPECT_THAT(read_file(at("a"), 4).error().message, HasSubstr("larger than 4 bytes"));
}

TEST_F(FileTest, AnEndlessFileWithoutASizeIsCutAtTheLimit) {
  EXPECT_THAT(read_file("/dev/zero", 100'000).error().message, HasSubstr("larger than 100000 bytes"));
}

TEST_F(FileTest, AFileOfProcIsReadThoughItsSizeIsZero) {
  EXPECT_THAT(*read_file("/proc/self/status"), HasSubstr("Name:"));
}

TEST_F(FileTest, AWriteReplacesTheContentAndKeepsTheMode) {
  ASSERT_TRUE(write_file_atomic(at("a"), "old").has_value());
  ASSERT_EQ(::chmod(at("a").c_str(), 0750), 0);
  ASSERT_TRUE(write_file_atomic(at("a"), "new").has_value());
  EXPECT_EQ(*read_file(at("a")), "new");
  EXPECT_EQ(fs::status(at("a")).permissions(), fs::perms(0750));
}

TEST_F(FileTest, AWriteThroughALinkReplacesWhatItPointsTo) {
  ASSERT_TRUE(write_file_atomic(at("a"), "old").has_value());
  fs::create_symlink("a", at("link"));
  ASSERT_TRUE(write_file_atomic(at("link"), "new").has_value());
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(*read_file(at("a")), "new");
}

TEST_F(FileTest, AWriteOntoAFolderIsAnError) {
  EXPECT_THAT(message_of(write_file_atomic(folder_.path(), "x")), HasSubstr("it is a folder"));
}

TEST_F(FileTest, AWriteIntoAMissingFolderIsAnError) {
  EXPECT_THAT(message_of(write_file_atomic(at("no/such"), "x")), HasSubstr("No such file or directory"));
}

TEST_F(FileTest, AFullDeviceIsNamed) {
  EXPECT_EQ(message_of(write_file_atomic("/dev/full", "x")), "cannot write /dev/full: the disk is full");
}

TEST_F(FileTest, AWriteThatDoesNotFitLeavesTheOldFileAndNoTrace) {
  ASSERT_TRUE(write_file_atomic(at("a"), "old").has_value());
  const std::string message = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return message_of(write_file_atomic(at("a"), std::string(5000, 'x')));
  });
  EXPECT_EQ(message, "cannot write " + at("a").string() + ": the file size limit is reached (ulimit -f)");
  EXPECT_EQ(*read_file(at("a")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, AFullDiskLeavesTheOldFile) {
  const std::string message = in_child([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      return "skip";
    }
    if (!write_file_atomic(at("a"), "old")) return "the first write failed";
    const std::string failed = message_of(write_file_atomic(at("a"), std::string(200'000, 'x')));
    return failed + "|" + read_file(at("a")).value_or("gone") + "|" + std::to_string(entries());
  });
  if (message == "skip") GTEST_SKIP() << "a small tmpfs cannot be mounted here";
  EXPECT_EQ(message, "cannot write " + at("a").string() + ": the disk is full|old|1");
}

TEST_F(FileTest, AReadOnlyFolderLeavesTheOldFile) {
  ASSERT_TRUE(write_file_atomic(at("a"), "old").has_value());
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
  const std::string message = in_child([&]() -> std::string {
    // Root may write everywhere: become nobody.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return "skip";
    return message_of(write_file_atomic(at("a"), "new"));
  });
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  if (message == "skip") GTEST_SKIP() << "the user cannot be changed here";
  EXPECT_THAT(message, StartsWith("cannot write " + at("a").string() + ": permission denied"));
  EXPECT_EQ(*read_file(at("a")), "old");
}

TEST_F(FileTest, AReadOnlyFileSystemIsNamed) {
  const std::string message = in_child([&]() -> std::string {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder_.path().c_str(), "tmpfs", MS_RDONLY, "size=64k") != 0) {
      return "skip";
    }
    return message_of(write_file_atomic(at("a"), "new"));
  });
  if (message == "skip") GTEST_SKIP() << "a tmpfs cannot be mounted here";
  EXPECT_EQ(message, "cannot write " + at("a").string() + ": the file system is read-only");
}

TEST_F(FileTest, FoldersAreCreatedWithTheirParentsAndMayExist) {
  EXPECT_TRUE(ak::create_directories(at("x/y/z")).has_value());
  EXPECT_TRUE(ak::create_directories(at("x/y/z")).has_value());
  EXPECT_TRUE(fs::is_directory(at("x/y/z")));
}

TEST_F(FileTest, AFileInTheWayOfAFolderIsAnError) {
  ASSERT_TRUE(write_file_atomic(at("a"), "").has_value());
  EXPECT_FALSE(ak::create_directories(at("a")).has_value());
  EXPECT_FALSE(ak::create_directories(at("a/b")).has_value());
}

TEST(TempDirTest, IsRemovedWithEverythingInIt) {
  fs::path path;
  {
    TempDir folder = *TempDir::create("ak-test");
    path = folder.path();
    fs::create_directories(path / "a/b");
    std::ofstream(path / "a/b/c") << "x";
    TempDir moved = std::move(folder);
    EXPECT_EQ(moved.path(), path);
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(FileTest, TemporaryFoldersOfKilledProcessesAreRemovedByTheNextOne) {
  ScopedVariable tmp("TMPDIR", folder_.path().c_str());
  const auto age = [](const fs::path& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  };
  const auto left_by_a_killed_process = [] {
    return fs::path(in_child([] {
      TempDir folder = *TempDir::create("job");
      const std::string path = folder.path().string();
      std::ofstream(folder.path() / "file") << "x";
      static std::optional<TempDir> kept;
      kept = std::move(folder);  // _exit runs no destructor, as a kill
      return path;
    }));
  };
  const fs::path old = left_by_a_killed_process(), young = left_by_a_killed_process();
  const TempDir held = *TempDir::create("job");
  fs::create_directory(at("job-longer-AbCdEf"));
  fs::create_directory(at("job-AbC.Ef"));
  fs::create_directory(at("target"));
  fs::create_directory_symlink(at("target"), at("job-AbCdEf"));
  for (const auto& each : fs::directory_iterator(folder_.path())) {
    if (each.path() != young) age(each.path());
  }
  ASSERT_TRUE(fs::exists(old / "file") && fs::exists(young / "file"));
  const TempDir next = *TempDir::create("job");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(held.path()));
  for (const char* other : {"job-longer-AbCdEf", "job-AbC.Ef", "target", "job-AbCdEf"})
    EXPECT_TRUE(fs::exists(at(other))) << other;
}

TEST_F(FileTest, ALockHeldByAnotherProcessNamesItsPid) {
  int ready[2], done[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(done, O_CLOEXEC), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    ::close(done[1]);
    char byte = 0;
    const auto lock = FileLock::try_lock(at("lock"));
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(done[0], &byte, 1);
    ::_exit(lock ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto refused = FileLock::try_lock(at("lock"));
  ::close(done[1]);
  int status = 0;
  ::waitpid(holder, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("is held by process " + std::to_string(holder) + ":"));
  // The kernel has released it with the holder's death.
  EXPECT_TRUE(FileLock::try_lock(at("lock")).has_value());
  for (int fd : {ready[0], ready[1], done[0]}) ::close(fd);
}

TEST_F(FileTest, ALockIsReleasedWithItsObject) {
  {
    auto lock = FileLock::try_lock(at("lock"));
    ASSERT_TRUE(lock.has_value());
    EXPECT_FALSE(FileLock::try_lock(at("lock")).has_value());
  }
  EXPECT_TRUE(FileLock::try_lock(at("lock")).has_value());
}

TEST_F(FileTest, ALockIsWaitedForUntilItIsFreeOrTimeIsUp) {
  auto holder = FileLock::try_lock(at("lock"));
  ASSERT_TRUE(holder.has_value());
  auto waited = FileLock::lock_within(at("lock"), std::chrono::milliseconds(1));
  ASSERT_TRUE(waited.has_value());
  EXPECT_FALSE(waited->has_value());
  std::jthread frees([&] { holder = FileLock::try_lock(at("another")); });
  waited = FileLock::lock_within(at("lock"), std::chrono::minutes(1));
  EXPECT_TRUE(waited.has_value() && waited->has_value());
  EXPECT_FALSE(FileLock::lock_within(at("no/lock"), std::chrono::minutes(1)).has_value());
}

TEST_F(FileTest, ALockInAMissingFolderIsAnError) {
  EXPECT_THAT(FileLock::try_lock(at("no/lock")).error().message, StartsWith("cannot open the lock "));
}

TEST(CacheDirectory, FollowsTheEnvironmentInOrder) {
  ScopedVariable own("AUTOKERNEL_CACHE", "/own"), xdg("XDG_CACHE_HOME", "/xdg"), home("HOME", "/home/me"),
      tmp("TMPDIR", "/scratch");
  EXPECT_EQ(cache_directory(), "/own");
  ::unsetenv("AUTOKERNEL_CACHE");
  EXPECT_EQ(cache_directory(), "/xdg/autokernel");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(cache_directory(), "/home/me/.cache/autokernel");
  ::unsetenv("HOME");
  EXPECT_EQ(cache_directory(), "/scratch/autokernel-" + std::to_string(::getuid()));
}

TEST(ExecutablePath, IsThisProgram) { EXPECT_EQ(executable_path()->filename(), "base_test"); }

TEST_F(FileTest, AProgramIsFoundOnThePath) {
  ASSERT_TRUE(write_file_atomic(at("tool"), "#!/bin/sh\n").has_value());
  ScopedVariable path("PATH", ("/nowhere:" + folder_.path().string() + ":/bin").c_str());
  EXPECT_THAT(find_program("tool").error().message, HasSubstr("cannot find the program 'tool' on PATH"));
  ASSERT_EQ(::chmod(at("tool").c_str(), 0755), 0);
  EXPECT_EQ(*find_program("tool"), at("tool"));
  EXPECT_EQ(*find_program(at("tool").string()), at("tool"));
  EXPECT_FALSE(find_program("").has_value());
  EXPECT_FALSE(find_program(folder_.path().string()).has_value());
}

}  // namespace
}  // namespace ak
