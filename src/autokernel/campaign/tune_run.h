#pragma once
// The state of one tune run; private to the campaign (tune.h is the interface).

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/base/random.h"
#include "autokernel/campaign/gate.h"
#include "autokernel/campaign/objective.h"
#include "autokernel/campaign/tune.h"
#include "autokernel/harness/job.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/space.h"
#include "autokernel/search/stop_rule.h"
#include "autokernel/search/strategy.h"

namespace ak::campaign {

class TuneRun {
 public:
  TuneRun(const Parts& parts, const std::atomic<bool>& stop, const TuneRequest& request,
          const TuneObserver& observer)
      : parts_(parts),
        stop_(stop),
        request_(request),
        observer_(observer),
        gate_(parts_, request_.target, request_.threshold),
        rng_(secret_seed()) {}

  Status open();                 ///< parses the file, makes the space, records target
  Result<bool> measure_start();  ///< finds what is to be beaten; false: the [defaults] fail
  Status search();
  Status decide();  ///< confirms the best, keeps or reverts
  TuneResult take_result() { return std::move(result_); }

 private:
  struct Pending {
    std::size_t index;
    Config config;
    std::vector<std::shared_future<Result<worker::CompileAnswer>>> compiles;
  };
  struct Measured {
    std::size_t index;
    double objective_us;
    std::vector<Trial> trials;
  };

  Result<std::optional<Experiment>> resumable();
  Result<bool> measure_defaults();  ///< false: they fail
  void take_start(const Start& start);
  Status begin_search();
  Status resume_trials();
  std::string proposer() const { return "tune:" + request_.strategy; }
  harness::Job trial_of(const Config& config) const;
  Target primary_of(const Config& config) const;
  Result<bool> propose();  ///< false: nothing left
  Status judge(Pending pending);
  Status record(std::size_t index, const Config& config, std::vector<Trial> trials, const Verdict* verdict);
  void remember(std::size_t index, std::vector<Trial> trials);
  std::optional<std::string> should_stop() const;
  Result<bool> is_opponent(const Config& config) const;
  Result<bool> confirm(const Measured& best);  ///< false: it failed the full verdict, try the next
  Status finish(Decision decision, const std::string& description, const std::string& text);
  void find_winners();

  Parts parts_;
  const std::atomic<bool>& stop_;
  const TuneRequest& request_;
  const TuneObserver& observer_;
  Gate gate_;
  Rng rng_;  ///< seeds of the trials' inputs; never the search's
  TuneResult result_;
  std::optional<kernel::KernelFile> file_;
  std::optional<kernel::Space> space_;
  std::unique_ptr<search::Strategy> strategy_;
  std::vector<std::unique_ptr<search::StopRule>> rules_;
  search::Progress progress_;
  std::optional<Objective> objective_;
  std::optional<harness::CandidateText> opponent_;  ///< the incumbent, else the file with its [defaults]
  bool target_changed_ = false;                     ///< since this workspace last saw it
  Experiment experiment_;
  std::deque<Pending> pending_;
  std::vector<Measured> measured_;
  std::chrono::steady_clock::time_point search_start_;
  double earlier_s_ = 0;  ///< spent by the run that is resumed
};

}  // namespace ak::campaign
