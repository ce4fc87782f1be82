#pragma once
// One job on its way through the stages. Private to the harness: harness.cc drives it, stages.cc and
// integrity.cc implement it.

#include <optional>
#include <string>
#include <vector>

#include "autokernel/harness/candidate.h"
#include "autokernel/harness/context.h"
#include "autokernel/harness/harness.h"
#include "autokernel/harness/sizes.h"
#include "autokernel/harness/timer.h"
#include "autokernel/harness/verifier.h"

namespace ak::harness {

class Pipeline {
 public:
  Pipeline(Context& context, References& references, const Job& job, Verdict& verdict)
      : context_(context), references_(references), job_(job), verdict_(verdict) {}

  /// Fills the verdict. The first failure ends the run.
  Status run();

 private:
  using StageFunction = Outcome (Pipeline::*)();
  Result<bool> stage(Stage which, StageFunction function);  ///< false: failed, stop
  void skip(Stage which, std::string_view why);

  Outcome compile();
  Outcome audit();
  Outcome smoke();
  Outcome shape_sweep();
  Outcome numerical_stability();
  Outcome determinism();
  Outcome edge_cases();
  Outcome integrity();
  Outcome time();
  Outcome plausibility();

  Outcome probes(const Problem& problem);
  Outcome moved(const Problem& problem);
  Outcome isolated(const Problem& problem);
  Outcome checked(const Problem& problem);
  Outcome run_checked(const Problem& problem);
  /// Adds to the message of a wrong result or a crash what the checked build finds on the same problem.
  Status explain(Failure& failure);
  Outcome time_problem(const TargetProblem& target_problem, const op::Draw& draw);
  Result<Timing> make_timing(const TargetProblem& target_problem, const TimedRounds& rounds);
  Status measure_floor(Timing& timing, std::uint64_t execution_bytes, std::size_t sets);
  Status floor_of_peaks(Timing& timing, const roofline::Peaks& peaks);

  /// Verifies one problem under several draws.
  Outcome verify(const Problem& problem, std::span<const op::Draw* const> draws, Stage stage,
                 const std::string& check, Placement placement = {});
  /// Like verify, but a problem the candidate does not support (`needs`, limits) is left out and counted.
  Outcome verify_if_valid(const Problem& problem, std::span<const op::Draw* const> draws, Stage stage,
                          const std::string& check);
  Placement next_placement();
  /// The smallest smoke problem that the candidate supports, else the target's smallest.
  Result<Problem> small_problem();
  const Problem& smallest_target_problem() const;
  Status note_left_out(const Problem& problem, const std::string& why);
  std::vector<const op::Draw*> all_draws() const;

  Context& context_;
  References& references_;
  const Job& job_;
  Verdict& verdict_;
  std::optional<Candidate> candidate_, incumbent_;
  Bench::SumsPool sums_;
  std::optional<Problem> failed_on_;  ///< the problem of a verify() that did not pass
  std::size_t placements_ = 0;
  std::size_t verified_ = 0;  ///< problems verified in the stage that runs
  std::vector<std::string> left_out_;
};

}  // namespace ak::harness
