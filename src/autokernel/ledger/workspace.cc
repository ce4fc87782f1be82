#include "autokernel/ledger/workspace.h"

#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <thread>

#include "autokernel/base/hash.h"
#include "autokernel/ledger/settings.h"
#include "autokernel/ledger/workspace_refs.h"

namespace ak::ledger {

namespace {

namespace fs = std::filesystem;
constexpr int kLockAttempts = 200;
constexpr std::chrono::milliseconds kLockPause(10);

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// The day and second of an ISO 8601 time; commits are dated by the ledger so that they can be made again.
std::chrono::sys_seconds seconds_of(const std::string& iso) {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
  std::sscanf(iso.c_str(), "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second);
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

std::string commit_message(const Experiment& e) {
  std::string message = fmt::format("experiment {} ({}): {}\n\ntarget: {}\nproposer: {}\nseed: {}\n", e.id,
                                    name(e.decision), e.description, e.target, e.proposer, e.seed);
  if (e.objective_us > 0) message += fmt::format("objective_us: {:.3f}\n", e.objective_us);
  if (e.best_config) message += fmt::format("config: {}\n", e.best_config->to_string());
  if (e.confirmation) {
    message += fmt::format("confirmed_speedup: {:.3f} ({:.3f} to {:.3f})\n", e.confirmation->ratio,
                           e.confirmation->ci_low, e.confirmation->ci_high);
  }
  return message;
}

/// Hash of the kernel that a target was made with.
std::string origin_key(const std::string& target) { return "origin/" + target; }

/// Does the lock's file name a process that lives? A holder writes its number just after it has the lock:
/// until then the file is empty or names the one before.
bool names_living_holder(const fs::path& lock_file) {
  const auto text = read_file(lock_file);
  const long pid = text ? std::strtol(text->c_str(), nullptr, 10) : 0;
  return pid > 0 && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH);
}

/// A run that was killed may leave the lock to a git process that it had just forked, for the moment until
/// that executes or notices; only then is it worth waiting.
Result<FileLock> lock_workspace(const fs::path& folder) {
  const fs::path path = folder / "lock";
  auto lock = FileLock::try_lock(path);
  const auto unsettled = [&] { return is_there(path) && !names_living_holder(path); };
  for (int attempt = 0; !lock && attempt < kLockAttempts && unsettled(); ++attempt) {
    std::this_thread::sleep_for(kLockPause);
    lock = FileLock::try_lock(path);
  }
  // The refusal above may have read the file before the holder had written its number.
  if (!lock) lock = FileLock::try_lock(path);
  if (lock) return lock;
  return tl::unexpected(
      std::move(lock).error().with_context(fmt::format("cannot use the workspace {}", folder.string())));
}

}  // namespace

Workspace::Workspace(fs::path folder, const Clock& clock) : folder_(std::move(folder)), clock_(&clock) {}

Result<std::optional<FileLock>> Workspace::lock_if_there(const fs::path& folder) {
  if (!is_there(folder / "ledger.db")) return std::optional<FileLock>();
  AK_TRY(lock, lock_workspace(folder));
  return std::optional(std::move(lock));
}

Result<Workspace> Workspace::open(const fs::path& folder, const Clock& clock) {
  std::error_code error;
  if (is_there(folder) && !fs::is_directory(folder, error)) {
    return usage_error("the workspace {} is a file: name a folder with --workspace", folder.string());
  }
  Workspace workspace(folder, clock);
  AK_TRY_VOID(ak::create_directories(folder));
  AK_TRY(lock, lock_workspace(folder));
  workspace.lock_ = std::move(lock);
  AK_TRY(ledger, Ledger::open(folder / "ledger.db", Access::kReadWrite, clock));
  workspace.ledger_ = std::move(ledger);
  AK_TRY_VOID(workspace.create_files());
  AK_TRY(git, GitRepository::open_or_create(folder));
  workspace.git_ = std::move(git);
  AK_TRY_VOID(workspace.repair());
  return workspace;
}

Unfinished Workspace::unfinished() const {
  const bool elsewhere = !lock_ && names_living_holder(folder_ / "lock");
  return elsewhere ? Unfinished::kRunning : Unfinished::kInterrupted;
}

std::string decision_text(Decision decision, Unfinished unfinished) {
  const bool interrupted = decision == Decision::kRunning && unfinished == Unfinished::kInterrupted;
  return interrupted ? "interrupted" : std::string(name(decision));
}

Result<Workspace> Workspace::open_read_only(const fs::path& folder, const Clock& clock) {
  if (!is_there(folder)) {
    return usage_error("there is no workspace {}: autokernel tune makes it, --workspace names another",
                       folder.string());
  }
  Workspace workspace(folder, clock);
  AK_TRY(ledger, Ledger::open(folder / "ledger.db", Access::kReadOnly, clock));
  workspace.ledger_ = std::move(ledger);
  Result<GitRepository> git = GitRepository::open_existing(folder);
  if (git) workspace.git_ = std::move(*git);
  return workspace;
}

Status Workspace::create_files() {
  AK_TRY_VOID(ak::create_directories(folder_ / "targets"));
  AK_TRY_VOID(ak::create_directories(reports_folder()));
  if (is_there(settings_file())) return {};
  return write_file_atomic(settings_file(), default_settings_toml());
}

Status Workspace::add_target(const Target& target, std::string_view toml, std::string_view kernel_text) {
  AK_TRY_VOID(check_name("target", target.id));
  AK_TRY_VOID(ledger_->put_target(target, toml));
  const fs::path folder = target_folder(target.id);
  AK_TRY_VOID(ak::create_directories(folder));
  AK_TRY_VOID(write_file_atomic(folder / "target.toml", toml));
  if (is_there(folder / "kernel.cu")) return {};
  const std::string hash = content_hash(kernel_text);
  AK_TRY_VOID(ledger_->put_kernel(hash, kernel_text));
  AK_TRY_VOID(ledger_->set_state(origin_key(target.id), hash));
  return write_file_atomic(folder / "kernel.cu", kernel_text);
}

Result<std::string> Workspace::kernel_text(const std::string& target) const {
  return read_file(target_folder(target) / "kernel.cu");
}

Result<std::optional<std::string>> Workspace::unedited_kernel(const std::string& target) const {
  AK_TRY(incumbent, ledger_->incumbent(target));
  AK_TRY(hash, ledger_->get_state(origin_key(target)));
  if (incumbent) {
    AK_TRY(result, ledger_->result_hash(incumbent->id));
    hash = result;
  }
  if (!hash) return std::optional<std::string>();
  AK_TRY(text, ledger_->kernel_text(*hash));
  return std::optional(std::move(text));
}

Result<Experiment> Workspace::begin(Experiment experiment, std::string_view kernel_text,
                                    const RunContext& context) {
  AK_TRY_VOID(check_name("tag", experiment.tag));
  if (experiment.kernel_hash.empty()) experiment.kernel_hash = content_hash(kernel_text);
  AK_TRY(batch, ledger_->batch());
  AK_TRY_VOID(ledger_->put_kernel(experiment.kernel_hash, kernel_text));
  AK_TRY(id, ledger_->begin_experiment(experiment, context));
  AK_TRY_VOID(batch.commit());
  return ledger_->experiment(id);
}

Result<std::string> Workspace::write_commit(const Experiment& experiment, std::string_view kernel,
                                            const std::string& parent) {
  AK_TRY(toml, ledger_->target_toml(experiment.target));
  CommitSpec spec;
  spec.parent = parent;
  const std::string folder = "targets/" + experiment.target + "/";
  spec.files = {{folder + "kernel.cu", std::string(kernel)}, {folder + "target.toml", toml}};
  spec.message = commit_message(experiment);
  spec.date = seconds_of(experiment.ended_at);
  return git_->write_commit(spec);
}

Result<Experiment> Workspace::finish(Experiment experiment, std::string_view kernel_text) {
  AK_TRY(stored, ledger_->experiment(experiment.id));
  if (stored.decision != Decision::kRunning) {
    return internal_error("experiment {} is finished already ({})", stored.id, name(stored.decision));
  }
  if (experiment.ended_at.empty()) experiment.ended_at = iso_time(clock_->wall());
  // The hash that the kernel came with stays when the text did not change.
  AK_TRY(begun_with, ledger_->kernel_text(stored.kernel_hash));
  const std::string result_hash = begun_with == kernel_text ? stored.kernel_hash : content_hash(kernel_text);

  AK_TRY(earlier, ledger_->experiments({.target = "", .tag = stored.tag}));
  AK_TRY(commit, write_commit(experiment, kernel_text, branch_head(earlier, stored.id)));
  experiment.commit = commit;

  AK_TRY(batch, ledger_->batch());
  AK_TRY_VOID(ledger_->put_kernel(result_hash, kernel_text));
  AK_TRY_VOID(ledger_->finish_experiment(experiment, result_hash));
  AK_TRY_VOID(batch.commit());

  AK_TRY_VOID(git_->update_refs({{ref_of(experiment), experiment.commit}}));
  AK_TRY_VOID(sync_kernel(experiment.target));
  if (advances_branch(experiment.decision)) {
    AK_TRY_VOID(git_->set_head(ref_of(experiment)));
    AK_TRY_VOID(git_->reset_index(experiment.commit));
  }
  AK_TRY_VOID(write_results());
  return ledger_->experiment(experiment.id);
}

Status Workspace::write_results() {
  AK_TRY(text, results_.text(*ledger_));
  return write_file_atomic(results_file(), text);
}

}  // namespace ak::ledger
