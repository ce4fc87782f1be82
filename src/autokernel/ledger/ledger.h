#pragma once
// The ledger: one SQLite file that remembers every experiment and trial. It is the truth of a workspace; git,
// results.tsv and reports are made from it.
//
//   AK_TRY(ledger, Ledger::open(folder / "ledger.db", Access::kReadWrite, clock));
//   AK_TRY_VOID(ledger.put_target(target, toml));
//   AK_TRY_VOID(ledger.put_kernel(file.hash, file.text));
//   AK_TRY(id, ledger.begin_experiment(experiment, context));
//   AK_TRY(trial_id, ledger.append_trial(trial, verdict));
//   AK_TRY_VOID(ledger.finish_experiment(experiment, result_hash));
//
// Write-ahead log, synchronous=NORMAL: what a call has returned survives kill -9 at any moment; a power cut
// may cost the trials since the last finished experiment, never the file. One object belongs to one thread;
// other processes may read at the same time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/clock.h"
#include "autokernel/base/result.h"
#include "autokernel/core/device_info.h"
#include "autokernel/core/experiment.h"
#include "autokernel/core/problem.h"
#include "autokernel/core/verdict.h"

namespace ak::ledger {

enum class Access { kReadWrite, kReadOnly };

/// Where the numbers of an experiment come from.
struct RunContext {
  DeviceInfo device;
  std::string compiler;  ///< "g++ 12.2.0"
  std::string version;   ///< of AutoKernel
  bool sandboxed = true;
};

/// What a verdict says of a trial's problem beyond the Trial itself.
struct TrialFacts {
  double peak_gbps = 0, peak_tflops = 0;  ///< measured; 0: unknown
  std::optional<double> floor_us, baseline_us, cold_us;
  CacheState l2 = CacheState::kWarm;
  double worst_error = 0;  ///< in units of the tolerance
  bool sandboxed = true;
  std::vector<std::string> flags;  ///< noticed, not rejected
};

struct TrialRecord {
  Trial trial;
  TrialFacts facts;
};

/// Empty strings match everything.
struct ExperimentQuery {
  std::string target, tag;
};
struct TrialQuery {
  std::string target, kernel_hash;
  std::string device_uuid;  ///< times of another device are no measurements of this one
};

class Ledger {
  struct State;  // the database; hides SQLite from this header

 public:
  /// Creates the file (read-write), migrates an older schema, and refuses foreign, damaged and newer files
  /// with the remedy. `clock` must outlive the ledger; it stamps what has no time yet.
  static Result<Ledger> open(const std::filesystem::path& path, Access access, const Clock& clock);
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  ~Ledger();
  const std::filesystem::path& path() const;

  /// Several writes, all or nothing. Rolled back when it is destroyed before commit(). Batches do not nest.
  class Batch {
   public:
    Batch(Batch&& other) noexcept;
    Batch& operator=(Batch&&) = delete;
    ~Batch();
    Status commit();

   private:
    friend class Ledger;
    explicit Batch(State& state) : state_(&state) {}
    State* state_;  // null after commit()
  };
  Result<Batch> batch();

  /// Kernel texts are kept once, by their content hash. A second text with the same hash is refused.
  Status put_kernel(const std::string& hash, std::string_view text);
  Result<std::string> kernel_text(const std::string& hash) const;

  /// Adds or replaces a target; `toml` is the text of its target.toml.
  Status put_target(const Target& target, std::string_view toml);
  Result<Target> target(const std::string& id) const;
  Result<std::string> target_toml(const std::string& id) const;
  Result<std::vector<std::string>> target_ids() const;  ///< in the order in which they were added

  /// Adds a row with decision `running` and returns its number. The target and the kernel must be there.
  Result<std::int64_t> begin_experiment(const Experiment& experiment, const RunContext& context);
  /// Writes decision, best config, objective, confirmation, commit, description and end; the decision must
  /// not be `running`, the experiment must be. `result_hash` is the kernel text that the experiment ends with
  /// (a tune run writes new [defaults]); empty: unchanged.
  Status finish_experiment(const Experiment& experiment, const std::string& result_hash = "");
  /// The last full verdict of an experiment, for `show`. Refused when it comes from the self-test.
  Status attach_verdict(std::int64_t experiment, const Verdict& verdict);
  Status set_commit(std::int64_t experiment, const std::string& commit);

  Result<Experiment> experiment(std::int64_t id) const;
  Result<RunContext> context(std::int64_t experiment) const;
  Result<std::optional<Verdict>> verdict(std::int64_t experiment) const;
  /// Hash of the kernel text that the experiment ended with.
  Result<std::string> result_hash(std::int64_t experiment) const;
  Result<std::vector<Experiment>> experiments(const ExperimentQuery& query = {}) const;  ///< by number
  /// The last experiment that was kept or is a start (`--fresh` begins with a new one); nullopt: none yet.
  Result<std::optional<Experiment>> incumbent(const std::string& target, const std::string& tag = "") const;
  /// What an experiment was measured against: the incumbent of its target and tag when it began; nullopt: it
  /// is the first, or a start, which is measured against nothing.
  Result<std::optional<Experiment>> incumbent_before(const Experiment& experiment) const;
  /// Experiments that are still `running`: of this process, or of one that died.
  Result<std::vector<Experiment>> unfinished(const ExperimentQuery& query = {}) const;

  /// A measured trial with the verdict that it comes from. Refused: verdicts of the self-test, and a trial
  /// that says otherwise than its verdict. Returns its id.
  Result<std::int64_t> append_trial(const Trial& trial, const Verdict& verdict);
  /// A trial without a verdict (an invalid config, a lost worker): it must carry a failure.
  Result<std::int64_t> append_failed_trial(const Trial& trial);
  Result<std::vector<Trial>> trials(
      std::int64_t experiment) const;  ///< in the order in which they were appended
  Result<std::vector<TrialRecord>> trial_records(std::int64_t experiment) const;
  /// Every trial of a kernel on a target, over all experiments, in order: what a resumed run need not repeat.
  Result<std::vector<Trial>> trials_of(const TrialQuery& query) const;

  /// Key and value: settings of a campaign, the random state of a strategy ("strategy/<experiment>").
  Status set_state(const std::string& key, std::string_view value);
  Result<std::optional<std::string>> get_state(const std::string& key) const;
  Status erase_state(const std::string& key);

 private:
  explicit Ledger(std::unique_ptr<State> state);
  Result<std::int64_t> insert_trial(const Trial& trial, const TrialFacts& facts);
  std::unique_ptr<State> state_;
};

}  // namespace ak::ledger
