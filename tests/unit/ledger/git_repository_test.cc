#include "autokernel/ledger/git_repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "autokernel/base/file.h"

namespace ak::ledger {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class GitRepositoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDir::create("ak-git-test");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  GitRepository open() {
    auto repository = GitRepository::open_or_create(folder_->path());
    if (!repository) ADD_FAILURE() << repository.error().message;
    return std::move(*repository);
  }
  std::string commit(GitRepository& repository, const std::string& text, const std::string& parent = "") {
    auto id =
        repository.write_commit({.parent = parent,
                                 .files = {{"targets/conv/kernel.cu", text}},
                                 .message = "experiment",
                                 .date = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000))});
    EXPECT_TRUE(id) << id.error().message;
    return id ? *id : "";
  }
  std::optional<TempDir> folder_;
};

TEST_F(GitRepositoryTest, ACommitHoldsItsFileAndIsReachedByItsRef) {
  GitRepository repository = open();
  const std::string id = commit(repository, "v1\n");
  ASSERT_TRUE(repository.update_refs({{"refs/heads/autokernel/t", id}}));
  EXPECT_EQ(*repository.file_at(id, "targets/conv/kernel.cu"), "v1\n");
  EXPECT_EQ(repository.refs("refs/heads/")->at("refs/heads/autokernel/t"), id);
  EXPECT_TRUE(repository.refs("refs/autokernel/")->empty());
}

TEST_F(GitRepositoryTest, OtherFilesOfTheParentStay) {
  GitRepository repository = open();
  const std::string first = commit(repository, "v1\n");
  const auto second = repository.write_commit(
      {.parent = first, .files = {{"targets/norm/kernel.cu", "n\n"}}, .message = "two", .date = {}});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(*repository.file_at(*second, "targets/conv/kernel.cu"), "v1\n");
  EXPECT_THAT(*repository.diff(*second), HasSubstr("targets/norm/kernel.cu"));
  EXPECT_THAT(*repository.diff(*second), Not(HasSubstr("targets/conv/kernel.cu")));
}

TEST_F(GitRepositoryTest, EqualContentHasEqualIds) {
  GitRepository repository = open();
  const std::string id = commit(repository, "v1\n");
  EXPECT_EQ(commit(repository, "v1\n"), id);
  EXPECT_NE(commit(repository, "v2\n"), id);
}

TEST_F(GitRepositoryTest, APendingCommitIsNotTheParentOfTheNextRoot) {
  GitRepository repository = open();
  commit(repository, "v1\n");
  const std::string second = commit(repository, "v2\n");
  EXPECT_THAT(*repository.diff(second), HasSubstr("new file mode"));
}

TEST_F(GitRepositoryTest, ContentsThatLookLikeCommandsArePlainContents) {
  GitRepository repository = open();
  const std::string text =
      "data 3\ndone\n\0\xff"
      "commit refs/heads/main\n";
  const std::string id = commit(repository, text);
  EXPECT_EQ(*repository.file_at(id, "targets/conv/kernel.cu"), text);
}

TEST_F(GitRepositoryTest, NothingOfTheUsersConfigurationIsRead) {
  std::ofstream(folder_->path() / "gitconfig")
      << "[user]\n name = Somebody\n[core]\n hooksPath = /tmp/none\n[broken\n";
  ::setenv("GIT_CONFIG_GLOBAL", (folder_->path() / "gitconfig").c_str(), 1);
  ::setenv("GIT_DIR", "/nonexistent", 1);
  GitRepository repository = open();
  const std::string id = commit(repository, "v1\n");
  ::unsetenv("GIT_CONFIG_GLOBAL");
  ::unsetenv("GIT_DIR");
  EXPECT_TRUE(repository.existing_commits({id})->contains(id));
}

TEST_F(GitRepositoryTest, AnEnclosingRepositoryIsNotTouched) {
  GitRepository outer = open();
  const std::string id = commit(outer, "outer\n");
  ASSERT_TRUE(outer.update_refs({{"refs/heads/main", id}}));
  const fs::path inner_folder = folder_->path() / ".autokernel";
  fs::create_directory(inner_folder);
  auto inner = GitRepository::open_or_create(inner_folder);
  ASSERT_TRUE(inner) << inner.error().message;
  commit(*inner, "inner\n");
  EXPECT_EQ(outer.refs("refs/")->size(), 1u);
  EXPECT_EQ(inner->refs("refs/")->size(), 1u);
  EXPECT_TRUE(fs::exists(inner_folder / ".git" / "HEAD"));
}

TEST_F(GitRepositoryTest, StaleLocksAndPartialFilesAreRemoved) {
  GitRepository repository = open();
  const std::string id = commit(repository, "v1\n");
  ASSERT_TRUE(repository.update_refs({{"refs/heads/autokernel/t", id}}));
  std::ofstream(repository.git_dir() / "refs/heads/autokernel/t.lock").flush();
  std::ofstream(repository.git_dir() / "objects/pack/tmp_pack_x").flush();
  std::ofstream(repository.git_dir() / "fast_import_crash_1").flush();
  EXPECT_FALSE(repository.update_refs({{"refs/heads/autokernel/t", commit(repository, "v2\n")}}));
  ASSERT_TRUE(repository.remove_stale_files());
  EXPECT_TRUE(repository.update_refs({{"refs/heads/autokernel/t", commit(repository, "v2\n")}}));
  EXPECT_FALSE(fs::exists(repository.git_dir() / "objects/pack/tmp_pack_x"));
  EXPECT_FALSE(fs::exists(repository.git_dir() / "fast_import_crash_1"));
}

TEST_F(GitRepositoryTest, ACreationThatWasKilledIsCompleted) {
  ASSERT_TRUE(ak::create_directories(folder_->path() / ".git"));
  std::ofstream(folder_->path() / ".git/config.lock").flush();
  EXPECT_TRUE(fs::exists(open().git_dir() / "HEAD"));
}

TEST_F(GitRepositoryTest, OrphansArePrunedAndReachableCommitsStay) {
  GitRepository repository = open();
  const std::string kept = commit(repository, "v1\n");
  ASSERT_TRUE(repository.update_refs({{"refs/heads/autokernel/t", kept}}));
  const std::string orphan = commit(repository, "v2\n");
  ASSERT_TRUE(repository.update_refs({}));
  ASSERT_TRUE(repository.prune());
  const auto existing = repository.existing_commits({kept, orphan, "not an id"});
  ASSERT_TRUE(existing) << existing.error().message;
  EXPECT_EQ(*existing, std::set<std::string>{kept});
}

TEST_F(GitRepositoryTest, AHalfMadeRepositoryIsCompleted) {
  fs::create_directories(folder_->path() / ".git" / "objects");
  GitRepository repository = open();
  EXPECT_FALSE(commit(repository, "v1\n").empty());
}

TEST_F(GitRepositoryTest, AReaderOfAFolderWithoutHistoryIsTold) {
  EXPECT_FALSE(GitRepository::open_existing(folder_->path()));
  EXPECT_FALSE(fs::exists(folder_->path() / ".git"));
}

TEST(CheckName, AcceptsNamesThatFitRefsAndFolders) {
  for (const char* name : {"tune", "conv2d-1", "a.b", "2026_11_30"})
    EXPECT_TRUE(check_name("tag", name)) << name;
}

TEST(CheckName, RefusesWhatWouldEscapeOrConfuse) {
  for (const char* name :
       {"", ".", "..", "a..b", "../x", "a/b", "-x", ".x", "x.", "x.lock", "a b", "a\nb", "a~1", "@{"}) {
    EXPECT_FALSE(check_name("tag", name)) << name;
  }
}

}  // namespace
}  // namespace ak::ledger
