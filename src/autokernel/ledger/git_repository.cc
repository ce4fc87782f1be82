#include "autokernel/ledger/git_repository.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "autokernel/base/file.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/base/text_lines.h"

namespace ak::ledger {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view kPending = "refs/autokernel/pending";
constexpr std::string_view kAuthor = "AutoKernel <autokernel@localhost>";
constexpr std::size_t kOutputCap = 256u << 20;  // refs and diffs of a long campaign
constexpr std::size_t kManyLooseObjects = 4000;

/// Only what git needs to run: nothing of the user's configuration can be found from here.
std::vector<std::string> git_environment() {
  const char* path = std::getenv("PATH");
  std::vector<std::string> environment = {
      fmt::format("PATH={}", path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin"),
      "HOME=/nonexistent",
      "XDG_CONFIG_HOME=/nonexistent",
      "GIT_CONFIG_GLOBAL=/dev/null",
      "GIT_CONFIG_SYSTEM=/dev/null",
      "GIT_CONFIG_NOSYSTEM=1",
      "GIT_ATTR_NOSYSTEM=1",
      "GIT_TERMINAL_PROMPT=0",
      "GIT_OPTIONAL_LOCKS=0",
      "GIT_AUTHOR_NAME=AutoKernel",
      "GIT_AUTHOR_EMAIL=autokernel@localhost",
      "GIT_COMMITTER_NAME=AutoKernel",
      "GIT_COMMITTER_EMAIL=autokernel@localhost",
      "LC_ALL=C"};
  if (const char* library_path = std::getenv("LD_LIBRARY_PATH")) {
    environment.push_back(fmt::format("LD_LIBRARY_PATH={}", library_path));
  }
  return environment;
}

std::vector<std::string> git_command(const fs::path& work_tree, std::vector<std::string> arguments) {
  std::vector<std::string> argv = {"git", "--git-dir=" + (work_tree / ".git").string(),
                                   "--work-tree=" + work_tree.string()};
  for (const char* setting :
       {"core.hooksPath=/dev/null", "commit.gpgSign=false", "gc.auto=0", "core.fsmonitor=false",
        "core.autocrlf=false", "core.fsync=committed", "core.quotePath=false"}) {
    argv.insert(argv.end(), {"-c", setting});
  }
  argv.insert(argv.end(), std::make_move_iterator(arguments.begin()),
              std::make_move_iterator(arguments.end()));
  return argv;
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text);
}

bool is_object_id(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && text.find_first_not_of("0123456789abcdef") == text.npos;
}

void append_data(std::string& stream, std::string_view content) {
  stream += fmt::format("data {}\n", content.size());
  stream += content;
  stream += '\n';
}

}  // namespace

Status check_name(std::string_view kind, std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const bool fits = !name.empty() && name.size() <= 100 && name.find_first_not_of(kAllowed) == name.npos &&
                    name.front() != '.' && name.front() != '-' && name.back() != '.' &&
                    !name.ends_with(".lock") && name.find("..") == name.npos;
  if (fits) return {};
  return usage_error(
      "the {} '{}' cannot name a branch or a folder: use letters, digits, '.', '_' and '-' (at most "
      "100, no '.' or '-' first)",
      kind, name);
}

GitRepository::GitRepository(fs::path work_tree)
    : work_tree_(std::move(work_tree)), git_dir_(work_tree_ / ".git") {}

Result<std::string> GitRepository::git(std::vector<std::string> arguments, std::string input) const {
  ProcessSpec spec;
  const std::string command = arguments.front();
  spec.argv = git_command(work_tree_, std::move(arguments));
  spec.directory = work_tree_;
  spec.environment = git_environment();
  spec.input = std::move(input);
  spec.deadline = 120s;
  spec.output_cap_bytes = kOutputCap;
  auto done = run_process(spec);
  if (!done) {
    return environment_error("cannot run git ({}): install it (apt-get install git)", done.error().message);
  }
  if (done->exit_code == 0 && !done->truncated) return std::move(done->out);
  if (done->timed_out)
    return environment_error("git {} in {} took more than 120 s", command, git_dir_.string());
  return environment_error(
      "git {} in {} failed: {}\nThe ledger has everything: if this stays, move {} away, it is rebuilt on the "
      "next run",
      command, git_dir_.string(), trimmed(done->err), git_dir_.string());
}

Result<GitRepository> GitRepository::open_or_create(const fs::path& folder) {
  std::error_code error;
  const fs::path work_tree = fs::absolute(folder, error);
  if (error) return environment_error("cannot resolve {}: {}", folder.string(), error.message());
  GitRepository repository(work_tree);
  // HEAD is the last thing that `git init` writes; running it again completes a half made repository, unless
  // the one that was killed left a lock behind.
  if (!fs::exists(repository.git_dir_ / "HEAD", error) ||
      !fs::exists(repository.git_dir_ / "objects", error)) {
    AK_TRY_VOID(repository.remove_stale_files());
    AK_TRY_VOID(repository.git({"init", "--quiet", "--template=", "--initial-branch=main"}));
    AK_TRY_VOID(ak::create_directories(repository.git_dir_ / "info"));
    AK_TRY_VOID(write_file_atomic(repository.git_dir_ / "info" / "exclude",
                                  "# Only targets/ has a history.\n/*\n!/targets/\n"));
  }
  return repository;
}

Result<GitRepository> GitRepository::open_existing(const fs::path& folder) {
  std::error_code error;
  GitRepository repository(fs::absolute(folder, error));
  if (!fs::exists(repository.git_dir_ / "HEAD", error)) {
    return usage_error("{} has no history yet: autokernel tune makes it", folder.string());
  }
  return repository;
}

Result<std::string> GitRepository::write_commit(const CommitSpec& spec) {
  // fast-import makes blobs, trees and the commit in one process; the reset forgets a pending commit of a run
  // that died, which would become the parent.
  const std::string stamp = fmt::format("{} {} +0000", kAuthor, spec.date.time_since_epoch().count());
  std::string stream = fmt::format("reset {}\n\ncommit {}\nmark :1\nauthor {}\ncommitter {}\n", kPending,
                                   kPending, stamp, stamp);
  append_data(stream, spec.message);
  if (!spec.parent.empty()) stream += fmt::format("from {}\n", spec.parent);
  for (const auto& [path, content] : spec.files) {
    stream += fmt::format("M 100644 inline {}\n", path);
    append_data(stream, content);
  }
  stream += "\nget-mark :1\ndone\n";
  AK_TRY(out, git({"fast-import", "--quiet", "--force", "--done"}, std::move(stream)));
  std::string object_id = trimmed(out);
  if (!is_object_id(object_id)) return internal_error("git fast-import answered '{}'", object_id);
  return object_id;
}

Status GitRepository::update_refs(const std::vector<RefUpdate>& updates) {
  std::string input;
  for (const RefUpdate& update : updates) {
    input += update.object_id.empty() ? fmt::format("delete {}\n", update.ref)
                                      : fmt::format("update {} {}\n", update.ref, update.object_id);
  }
  input += fmt::format("delete {}\n", kPending);
  AK_TRY_VOID(git({"update-ref", "--no-deref", "--stdin"}, std::move(input)));
  return {};
}

Status GitRepository::set_head(const std::string& ref) {
  const std::string content = "ref: " + ref + "\n";
  const auto current = read_file(git_dir_ / "HEAD");
  if (current && *current == content) return {};
  return write_file_atomic(git_dir_ / "HEAD", content);
}

Status GitRepository::reset_index(const std::string& object_id) {
  AK_TRY_VOID(git({"read-tree", object_id}));
  return {};
}

Result<std::map<std::string, std::string>> GitRepository::refs(const std::string& prefix) const {
  AK_TRY(out, git({"for-each-ref", "--format=%(objectname) %(refname)", prefix}));
  std::map<std::string, std::string> refs;
  for (std::string_view line : lines_of(out)) {
    const std::size_t blank = line.find(' ');
    if (blank == line.npos) continue;
    refs.emplace(line.substr(blank + 1), line.substr(0, blank));
  }
  return refs;
}

Result<std::set<std::string>> GitRepository::existing_commits(
    const std::vector<std::string>& object_ids) const {
  std::set<std::string> existing;
  std::string input;
  for (const std::string& id : object_ids) {
    if (is_object_id(id)) input += id + "\n";
  }
  if (input.empty()) return existing;
  AK_TRY(out, git({"cat-file", "--batch-check=%(objectname) %(objecttype)"}, std::move(input)));
  for (std::string_view line : lines_of(out)) {
    if (line.ends_with(" commit")) existing.emplace(line.substr(0, line.find(' ')));
  }
  return existing;
}

Result<std::string> GitRepository::file_at(const std::string& object_id, const std::string& path) const {
  return git({"cat-file", "blob", object_id + ":" + path});
}

Result<std::string> GitRepository::diff(const std::string& object_id) const {
  return git({"diff-tree", "--root", "--no-commit-id", "--no-ext-diff", "--no-textconv", "-p", object_id});
}

Status GitRepository::remove_stale_files() {
  std::error_code error;
  std::vector<fs::path> stale;
  fs::recursive_directory_iterator it(git_dir_, error), end;
  for (; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool lock = name.ends_with(".lock");
    const bool crash_report = name.starts_with("fast_import_crash_");
    const bool partial =
        name.starts_with("tmp_obj_") || name.starts_with("tmp_pack_") || name.starts_with("tmp_idx_");
    if (lock || crash_report || partial) stale.push_back(it->path());
  }
  for (const fs::path& path : stale) {
    fs::remove(path, error);
    if (error)
      return environment_error("cannot remove the stale file {}: {}", path.string(), error.message());
  }
  return {};
}

Status GitRepository::prune() {
  AK_TRY_VOID(git({"prune", "--expire=now"}));
  std::error_code error;
  std::size_t loose = 0;
  fs::recursive_directory_iterator it(git_dir_ / "objects", error), end;
  for (; !error && it != end; it.increment(error))
    loose += it->path().filename().string().size() == 38 ? 1 : 0;
  if (loose < kManyLooseObjects) return {};
  AK_TRY_VOID(git({"repack", "-d", "-q"}));
  AK_TRY_VOID(git({"pack-refs", "--all"}));
  return {};
}

}  // namespace ak::ledger
