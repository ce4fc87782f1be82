#pragma once
// What the names of a [[match]] table stand for at one place of a trace, and the problem that follows.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autokernel/core/problem.h"
#include "autokernel/op/op_family.h"
#include "autokernel/plan/op_arguments.h"

namespace ak::plan {

/// Names and arguments; the arguments must outlive it. Truncating it takes the last ones back.
class Bindings {
 public:
  const Argument* find(std::string_view name) const;
  void add(const std::string& name, const Argument* argument) { bound_.emplace_back(&name, argument); }
  std::size_t size() const { return bound_.size(); }
  void truncate(std::size_t size) { bound_.resize(size); }

 private:
  std::vector<std::pair<const std::string*, const Argument*>> bound_;
};

/// Whether a recorded argument is this literal of a match table. What the profiler never records passes:
/// texts, and numbers that are wrapped as tensors. Negative integers count from `rank`.
bool literal_fits(std::string_view literal, const Argument& argument, std::size_t rank);

struct BoundProblem {
  Problem problem;
  /// Scalars, flags and texts ("'none' of aten::gelu") that were not recorded: defaults.
  std::vector<std::string> assumed;
};

/// The problem of a match, or nullopt where shapes, dtypes or values do not fit the family.
std::optional<BoundProblem> bind_problem(const op::Family& family, const op::Match& match,
                                         const Bindings& bindings);

}  // namespace ak::plan
