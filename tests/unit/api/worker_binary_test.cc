#include "autokernel/api/worker_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "autokernel/base/file.h"

namespace ak::api {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A folder, with PATH set to one of its sub-folders for the length of a test.
class WorkerBinary : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("PATH");
    path_ = path != nullptr ? path : "";
    for (const char* name : {"environment", "beside", "path"}) fs::create_directory(folder(name));
    ::setenv("PATH", folder("path").c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }

  fs::path folder(const char* name) const { return dir_->path() / name; }
  fs::path program(const char* where, const char* name = "autokernel") const {
    fs::path path = folder(where) / name;
    EXPECT_TRUE(write_file_atomic(path, "#!/bin/sh\n"));
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }

  Result<TempDir> dir_ = TempDir::create("worker_binary");
  std::string path_;
};

TEST_F(WorkerBinary, TheEnvironmentComesFirst) {
  fs::path wanted = program("environment", "another_name");
  program("beside");
  program("path");
  EXPECT_EQ(*find_worker_binary({wanted.string(), folder("beside")}), wanted);
}

TEST_F(WorkerBinary, BesideTheExecutableComesBeforePath) {
  fs::path wanted = program("beside");
  program("path");
  EXPECT_EQ(*find_worker_binary({std::nullopt, folder("beside")}), wanted);
}

TEST_F(WorkerBinary, PathComesLast) {
  fs::path wanted = program("path");
  EXPECT_EQ(*find_worker_binary({std::nullopt, folder("beside")}), wanted);
}

TEST_F(WorkerBinary, AnEnvironmentThatNamesNoProgramIsAnErrorAndNotPassedOver) {
  program("beside");
  for (const fs::path& bad : {folder("environment") / "nothing", folder("environment")}) {
    auto found = find_worker_binary({bad.string(), folder("beside")});
    ASSERT_FALSE(found) << bad;
    EXPECT_EQ(found.error().code, ErrorCode::kEnvironment);
    EXPECT_THAT(found.error().message, HasSubstr(bad.string()));
  }
}

TEST_F(WorkerBinary, AFileThatIsNotExecutableIsPassedOver) {
  fs::path wanted = program("path");
  fs::permissions(program("beside"), fs::perms::owner_read);
  EXPECT_EQ(*find_worker_binary({std::nullopt, folder("beside")}), wanted);
}

TEST_F(WorkerBinary, TheErrorListsWhatWasLookedAt) {
  auto found = find_worker_binary({std::nullopt, folder("beside")});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(found.error().message, HasSubstr("AUTOKERNEL_BIN"));
  EXPECT_THAT(found.error().message, HasSubstr(folder("beside").string()));
  EXPECT_THAT(found.error().message, HasSubstr(folder("path").string()));
}

}  // namespace
}  // namespace ak::api
