#pragma once
// One verification: fresh inputs of one draw, the reference, poisoned outputs, a launch of the candidate,
// then the checks in the order fault, guards, poison, numeric.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autokernel/harness/binding.h"
#include "autokernel/harness/candidate.h"
#include "autokernel/harness/context.h"
#include "autokernel/harness/data_set.h"
#include "autokernel/harness/reference.h"

namespace ak::harness {

struct VerifyRequest {
  Stage stage = Stage::kSmoke;
  std::string check = "numeric";  ///< id that a wrong result is reported under
  const op::Draw* draw = nullptr;
  const op::Probe* probe = nullptr;  ///< changes one input of the draw
  Placement placement;
  Poison poison = Poison::kNan;
};

/// Buffers of one problem for verification, with a candidate bound to them.
class Bench {
 public:
  static Result<Bench> create(Context& context, References& references, const Problem& problem,
                              const Prepared& prepared, const Placement& placement);

  /// Fills the inputs from a draw and a seed and computes the truth.
  Status load_inputs(const op::Draw& draw, const op::Probe* probe, std::uint64_t seed);
  /// Poisons outputs and workspaces, scrubs if asked, launches once. Checks fault, guard.edge, guard.input.
  enum class ScrubFirst { kNo, kYes };
  Outcome launch(Stage stage, Poison poison, ScrubFirst scrub);
  /// guard.poison and numeric against the truth. `pool` collects the norm-wise sums of one distribution.
  struct Sums {
    double y = 0, b = 0, u = 0, elements = 0, rows = 0;
  };
  using SumsPool = std::map<std::string, Sums>;
  Outcome compare(Stage stage, const std::string& check, SumsPool* pool, double* worst);
  /// For the separation test: ||y - r|| / ||b - r|| over all outputs; is every element within its bound?
  Result<double> norm_ratio();
  Result<bool> within_bounds();
  /// Digest of all outputs.
  Result<std::uint64_t> digest();

  const Problem& problem() const { return problem_; }
  std::uint64_t bytes() const { return data_.bytes() + truth_.bytes(); }

 private:
  Bench(Context& context, References& references, Problem problem, DataSet data, Truth truth,
        Workspaces spaces)
      : context_(&context),
        references_(&references),
        problem_(std::move(problem)),
        data_(std::move(data)),
        truth_(std::move(truth)),
        workspaces_(std::move(spaces)) {}
  Failure failure(Stage stage, FailureKind kind, std::string check, std::string message) const;
  Outcome compare_output(Stage stage, const std::string& check, const std::string& output, SumsPool* pool,
                         double* worst);

  Context* context_;
  References* references_;
  Problem problem_;
  DataSet data_;
  Truth truth_;
  Workspaces workspaces_;
  std::vector<device::Step> launches_;
  std::string draw_name_;
  bool zero_mean_ = true;
  std::uint64_t poison_seed_ = 0;
  Poison poison_ = Poison::kNan;
};

/// The placement under the checks that are on: inputs that a candidate may write where guard.input is off.
Placement allowed(const Context& context, Placement placement);

/// Runs trusted steps; a fault there is an error of ours.
Status run_trusted(Context& context, std::span<const device::Step> steps);

/// One execution of a candidate on a data set: zeroed workspaces, then its launches.
Result<std::vector<device::Step>> candidate_steps(const Prepared& prepared, const DataSet& data,
                                                  const Workspaces& workspaces);

/// Poisons outputs and workspaces; nothing where guard.poison is off.
Result<std::vector<device::Step>> poison_steps(Context& context, const DataSet& data,
                                               const Workspaces& workspaces, std::uint64_t seed,
                                               Poison poison);

/// Launches that fill the inputs of `data` from a draw, with a probe applied.
Result<std::vector<device::Step>> input_steps(Context& context, const Problem& problem, const DataSet& data,
                                              const op::Draw& draw, const op::Probe* probe,
                                              std::uint64_t seed);

}  // namespace ak::harness
