#pragma once
// Tries the bindings of one sequence of ops to one [[match]] table.

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "autokernel/plan/bindings.h"
#include "autokernel/plan/op_traits.h"

namespace ak::plan {

using Arguments = std::vector<Argument>;

/// A cast that was seen through.
struct SeenCast {
  std::size_t step;  ///< that it comes before
  const Arguments* arguments;
};

class StepBinder {
 public:
  /// `steps`: the arguments of the ops, one for each step, null for views that were not seen.
  StepBinder(const op::Family& family, const op::Match& match, std::span<const Arguments* const> steps,
             std::span<const SeenCast> casts, const OpTraits& traits);
  std::optional<BoundProblem> run();

 private:
  bool bind_from(std::size_t step);
  void note_texts();
  bool bind_step(std::size_t step, bool swapped);
  bool bind_argument(std::size_t step, const op::MatchArgument& pattern, const Argument& argument,
                     std::size_t rank);
  bool bind_name(std::size_t step, const std::string& name, const Argument& argument);
  const Argument& before_cast(std::size_t step, const Argument& argument) const;

  const op::Family& family_;
  const op::Match& match_;
  std::span<const Arguments* const> steps_;
  std::span<const SeenCast> casts_;
  const OpTraits& traits_;
  std::set<std::string, std::less<>> results_;
  Bindings bindings_;
  std::optional<BoundProblem> found_;
};

}  // namespace ak::plan
