#pragma once
// The workspace's own git repository, through the git command line.
//
// Nothing of the user's reaches it: no configuration files, hooks, signing, attributes, HOME or enclosing
// repository; author and committer are fixed and dates are given, so that equal content gives equal object
// ids. Objects and refs are written by separate calls, because the ledger's row is written in between.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::ledger {

/// A commit whose tree is the parent's with some files replaced.
struct CommitSpec {
  std::string parent;                        ///< object id; empty: a root commit
  std::map<std::string, std::string> files;  ///< path ("targets/conv/kernel.cu") -> content
  std::string message;                       ///< subject, empty line, body
  std::chrono::sys_seconds date{};
};

struct RefUpdate {
  std::string ref;        ///< full name, "refs/heads/..."
  std::string object_id;  ///< empty: delete it
};

/// Letters, digits, '.', '_', '-': fit for a ref and for a folder. The error says which of the two it was
/// for.
Status check_name(std::string_view kind, std::string_view name);

class GitRepository {
 public:
  /// `<work_tree>/.git`, which is made if it is missing or was half made.
  static Result<GitRepository> open_or_create(const std::filesystem::path& work_tree);
  /// For readers: creates and repairs nothing.
  static Result<GitRepository> open_existing(const std::filesystem::path& work_tree);

  /// Writes the objects of a commit and returns its id. No branch points to it yet: refs/autokernel/pending
  /// does, until update_refs. One git process.
  Result<std::string> write_commit(const CommitSpec& spec);
  /// All of them or none; drops refs/autokernel/pending as well. One git process.
  Status update_refs(const std::vector<RefUpdate>& updates);
  /// The branch that `git log` shows, by writing HEAD.
  Status set_head(const std::string& ref);
  /// Makes the index agree with a commit, so that `git status` in the workspace is quiet.
  Status reset_index(const std::string& object_id);

  /// Refs below a prefix ("refs/autokernel/") with their object ids.
  Result<std::map<std::string, std::string>> refs(const std::string& prefix) const;
  /// Those of `object_ids` that are there and commits.
  Result<std::set<std::string>> existing_commits(const std::vector<std::string>& object_ids) const;
  Result<std::string> file_at(const std::string& object_id, const std::string& path) const;
  /// Unified diff of a commit against its parent (all of it for a root commit).
  Result<std::string> diff(const std::string& object_id) const;

  /// Lock files and temporary files of git processes that died. Only under the workspace's lock.
  Status remove_stale_files();
  /// Drops objects that no ref reaches; packs many loose ones.
  Status prune();

  const std::filesystem::path& git_dir() const { return git_dir_; }

 private:
  explicit GitRepository(std::filesystem::path work_tree);
  /// stdout of `git <arguments>`; a failure is an error with what git said.
  Result<std::string> git(std::vector<std::string> arguments, std::string input = {}) const;
  std::filesystem::path work_tree_, git_dir_;
};

}  // namespace ak::ledger
