// Repair of a workspace on open, under its lock: whatever a run that died left behind between two steps of
// Workspace::finish is brought in line with the ledger.

#include <algorithm>
#include <map>
#include <set>

#include "autokernel/ledger/workspace.h"
#include "autokernel/ledger/workspace_refs.h"

namespace ak::ledger {

namespace {

constexpr const char* kBranches = "refs/heads/autokernel/";
constexpr const char* kOwnRefs = "refs/autokernel/";

/// Number of the last experiment after which kernel.cu was brought up to date.
std::string synced_key(const std::string& target) { return "synced/" + target; }

}  // namespace

Status Workspace::repair() {
  AK_TRY_VOID(git_->remove_stale_files());
  AK_TRY_VOID(repair_commits());
  AK_TRY_VOID(repair_refs());
  AK_TRY_VOID(git_->prune());
  AK_TRY(targets, ledger_->target_ids());
  for (const std::string& target : targets) AK_TRY_VOID(sync_kernel(target));
  std::error_code error;
  if (!repairs_.actions.empty() || !std::filesystem::exists(results_file(), error))
    AK_TRY_VOID(write_results());
  return {};
}

/// Commits that are missing (the repository was lost, or a row was written without one) are made again from
/// the ledger; with the same parent they get the same object id.
Status Workspace::repair_commits() {
  AK_TRY(experiments, ledger_->experiments());
  std::vector<std::string> recorded;
  for (const Experiment& e : experiments) recorded.push_back(e.commit);
  AK_TRY(existing, git_->existing_commits(recorded));
  std::map<std::string, std::string> heads;  // tag -> commit
  std::set<std::string> moved;               // tags whose history has got new object ids
  for (const Experiment& e : experiments) {
    if (e.decision == Decision::kRunning) continue;
    std::string commit = e.commit;
    if (!existing.contains(commit) || moved.contains(e.tag)) {
      AK_TRY(hash, ledger_->result_hash(e.id));
      AK_TRY(text, ledger_->kernel_text(hash));
      AK_TRY(written, write_commit(e, text, heads[e.tag]));
      // A ref at once: the next commit would take the pending one's place, and prune would drop this.
      Experiment now = e;
      now.commit = written;
      AK_TRY_VOID(git_->update_refs({{ref_of(now), written}}));
      if (written != e.commit) {
        AK_TRY_VOID(ledger_->set_commit(e.id, written));
        if (advances_branch(e.decision)) moved.insert(e.tag);
      }
      repairs_.actions.push_back(fmt::format("the commit of experiment {} was made again", e.id));
      commit = written;
    }
    if (advances_branch(e.decision)) heads[e.tag] = commit;
  }
  return {};
}

Status Workspace::repair_refs() {
  AK_TRY(experiments, ledger_->experiments());
  std::map<std::string, std::string> wanted;
  std::string head;
  for (const Experiment& e : experiments) {
    if (e.decision == Decision::kRunning) continue;
    wanted[ref_of(e)] = e.commit;
    if (advances_branch(e.decision)) head = ref_of(e);
  }
  AK_TRY(found, git_->refs(kBranches));
  AK_TRY(own, git_->refs(kOwnRefs));
  found.merge(own);
  std::vector<RefUpdate> updates;
  for (const auto& [ref, object_id] : wanted) {
    const auto it = found.find(ref);
    if (it != found.end() && it->second == object_id) continue;
    updates.push_back({ref, object_id});
    repairs_.actions.push_back(fmt::format("{} was set to {}", ref, object_id.substr(0, 10)));
  }
  for (const auto& [ref, object_id] : found) {
    if (wanted.contains(ref) || ref == "refs/autokernel/pending") continue;
    updates.push_back({ref, ""});
    repairs_.actions.push_back(fmt::format("{} was removed: the ledger knows nothing of it", ref));
  }
  if (!updates.empty() || found.contains("refs/autokernel/pending")) AK_TRY_VOID(git_->update_refs(updates));
  if (head.empty()) return {};
  AK_TRY_VOID(git_->set_head(head));
  return updates.empty() ? Status{} : git_->reset_index(wanted[head]);
}

/// Texts of kernel.cu that may be replaced by the incumbent: those that the last experiment began and ended
/// with, and the incumbent before it. Anything else is an edit that was not measured yet.
Result<std::vector<std::string>> Workspace::replaceable_kernels(const std::string& target) const {
  AK_TRY(experiments, ledger_->experiments({.target = target, .tag = ""}));
  std::erase_if(experiments, [](const Experiment& e) { return e.decision == Decision::kRunning; });
  std::vector<std::string> hashes;
  if (experiments.empty()) return hashes;
  const Experiment last = experiments.back();
  AK_TRY(result, ledger_->result_hash(last.id));
  hashes = {last.kernel_hash, result};
  experiments.pop_back();
  const auto before = std::find_if(experiments.rbegin(), experiments.rend(),
                                   [](const Experiment& e) { return advances_branch(e.decision); });
  if (before != experiments.rend()) {
    AK_TRY(previous, ledger_->result_hash(before->id));
    hashes.push_back(previous);
  }
  std::vector<std::string> texts;
  for (const std::string& hash : hashes) {
    AK_TRY(text, ledger_->kernel_text(hash));
    texts.push_back(std::move(text));
  }
  return texts;
}

/// Brings targets/<id>/kernel.cu in line with the last finished experiment, once: edits made later stay.
Status Workspace::sync_kernel(const std::string& target) {
  AK_TRY(incumbent, ledger_->incumbent(target));
  if (!incumbent) return {};
  AK_TRY(experiments, ledger_->experiments({.target = target, .tag = ""}));
  std::int64_t last = 0;
  for (const Experiment& e : experiments) {
    if (e.decision != Decision::kRunning) last = std::max(last, e.id);
  }
  AK_TRY(synced, ledger_->get_state(synced_key(target)));
  const std::filesystem::path path = target_folder(target) / "kernel.cu";
  std::error_code error;
  const bool missing = !std::filesystem::exists(path, error);
  if (!missing && synced == std::to_string(last)) return {};

  AK_TRY(hash, ledger_->result_hash(incumbent->id));
  AK_TRY(wanted, ledger_->kernel_text(hash));
  std::string current;
  if (!missing) {
    AK_TRY(text, read_file(path));
    current = std::move(text);
  }
  AK_TRY(replaceable, replaceable_kernels(target));
  const bool may_replace =
      missing || std::find(replaceable.begin(), replaceable.end(), current) != replaceable.end();
  if (may_replace && current != wanted) {
    AK_TRY_VOID(ak::create_directories(path.parent_path()));
    AK_TRY_VOID(write_file_atomic(path, wanted));
    if (missing) {
      repairs_.actions.push_back(fmt::format("{} was missing: it is again what experiment {} left there",
                                             path.string(), incumbent->id));
    }
  }
  return ledger_->set_state(synced_key(target), std::to_string(last));
}

}  // namespace ak::ledger
