#pragma once
// A workspace: the folder in which a campaign lives (default ./.autokernel).
//
//   autokernel.toml    settings, written with commented defaults
//   ledger.db          the truth
//   targets/<id>/      target.toml, kernel.cu (the incumbent; an agent or a person may edit it)
//   results.tsv, reports/   generated
//   .git/              history: branch autokernel/<tag>, refs/autokernel/rejected/<N>
//
//   AK_TRY(workspace, Workspace::open(folder, clock));            // one writer at a time
//   AK_TRY(e, workspace.begin({.target = "conv", .tag = "tune", ...}, kernel_text, context));
//   AK_TRY(id, workspace.ledger().append_trial(trial, verdict));
//   e.decision = Decision::kKept;
//   AK_TRY_VOID(workspace.finish(e, new_kernel_text));
//
// A kill -9 at any moment loses nothing that a call has returned: objects are written first, then the
// ledger's row, then the refs; open() repairs what was in between from the ledger.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/clock.h"
#include "autokernel/base/file.h"
#include "autokernel/base/result.h"
#include "autokernel/ledger/git_repository.h"
#include "autokernel/ledger/ledger.h"
#include "autokernel/ledger/results_tsv.h"

namespace ak::ledger {

inline constexpr std::string_view kDefaultWorkspace = ".autokernel";

/// What open() had to repair after a run that died; empty after a clean end.
struct RepairLog {
  std::vector<std::string> actions;  ///< for people, e.g. "branch autokernel/tune moved to experiment 7"
};

/// What became of an experiment that has no decision: a run that is going on has it in its hands, or none
/// does.
enum class Unfinished { kRunning, kInterrupted };
/// Its decision; of one without, "running" or "interrupted".
std::string decision_text(Decision decision, Unfinished unfinished);

class Workspace {
 public:
  /// Creates the folder if needed, takes its lock and repairs it. Fails when another run holds the lock,
  /// naming its pid (exit code 3). `clock` must outlive the workspace.
  static Result<Workspace> open(const std::filesystem::path& folder, const Clock& clock);
  /// Its lock alone, for work on files beside the ledger; nothing where there is no workspace yet.
  static Result<std::optional<FileLock>> lock_if_there(const std::filesystem::path& folder);
  /// For log, show, report, status and next: no lock, no write (but for reports/), works while a run is going
  /// on, in a folder that cannot be written, and without .git.
  static Result<Workspace> open_read_only(const std::filesystem::path& folder, const Clock& clock);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path settings_file() const { return folder_ / "autokernel.toml"; }
  std::filesystem::path target_folder(const std::string& target) const {
    return folder_ / "targets" / target;
  }
  std::filesystem::path reports_folder() const { return folder_ / "reports"; }
  std::filesystem::path results_file() const { return folder_ / "results.tsv"; }

  Ledger& ledger() { return *ledger_; }
  const Ledger& ledger() const { return *ledger_; }
  /// A reader may lack it (.git was moved away); everything else comes from the ledger.
  bool has_history() const { return git_.has_value(); }
  const GitRepository& git() const { return *git_; }
  const RepairLog& repairs() const { return repairs_; }
  /// Is another process's run going on in this workspace? If not, an experiment that is still `running` was
  /// interrupted.
  Unfinished unfinished() const;

  /// Records a target and writes targets/<id>/target.toml; kernel.cu too if it is not there yet.
  Status add_target(const Target& target, std::string_view toml, std::string_view kernel_text);
  /// kernel.cu as it is now, with the edits of an agent or a person.
  Result<std::string> kernel_text(const std::string& target) const;
  /// kernel.cu without the edits that no experiment has seen: the incumbent, before the first experiment what
  /// the target was made with. nullopt: not known (a workspace of an older version).
  Result<std::optional<std::string>> unedited_kernel(const std::string& target) const;

  /// Stores the kernel (sets `kernel_hash` and, when 0, `id`) and adds the row. Returns the experiment as
  /// stored.
  Result<Experiment> begin(Experiment experiment, std::string_view kernel_text, const RunContext& context);
  /// Ends an experiment: one commit with the kernel it ends with, the ledger's row, then its ref. A start and
  /// a kept experiment advance the branch autokernel/<tag> and become kernel.cu; any other stays readable
  /// under refs/autokernel/rejected/<N>, and kernel.cu goes back to the incumbent. A kernel.cu that holds an
  /// edit which no experiment has seen is left alone. Returns the experiment as stored, with its commit.
  Result<Experiment> finish(Experiment experiment, std::string_view kernel_text);
  /// Regenerates results.tsv (finish does so too).
  Status write_results();

 private:
  Workspace(std::filesystem::path folder, const Clock& clock);
  Status create_files();
  // workspace_repair.cc: what a run that died left between two steps of finish().
  Status repair();
  Status repair_commits();
  Status repair_refs();
  Status sync_kernel(const std::string& target);
  Result<std::vector<std::string>> replaceable_kernels(const std::string& target) const;
  Result<std::string> write_commit(const Experiment& experiment, std::string_view kernel,
                                   const std::string& parent);

  std::filesystem::path folder_;
  const Clock* clock_;
  std::optional<FileLock> lock_;
  std::optional<Ledger> ledger_;
  std::optional<GitRepository> git_;
  RepairLog repairs_;
  ResultsTable results_;
};

}  // namespace ak::ledger
