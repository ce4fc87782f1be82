#pragma once
// Steps 3 and 4 of 4: search the candidates with a strategy and an objective, verify and return the best.
//
//   ak::KernelOptimizer optimizer(*evaluator, {.strategy = "differential-evolution", .budget = 50});
//   auto result = optimizer.optimize(generated->candidates);
//   if (result->best) std::puts(result->best->candidate.description().c_str());

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/performance_evaluator.h"

namespace ak {

/// One step of the history.
struct Observation {
  Evaluation evaluation;
  double objective = 0;  ///< infinity for candidates that failed or are not wanted
};

struct OptimizerOptions {
  /// exhaustive, random, local, annealing, genetic, differential-evolution or gradient.
  std::string strategy = "differential-evolution";
  std::size_t budget = 100;  ///< candidates to evaluate at most
  std::uint64_t seed = 1;    ///< of the strategy; the seeds of test inputs are secret
  Objective objective{};     ///< empty: the execution time
  /// Called after each candidate; false stops the search (the best so far is still verified).
  std::function<bool(const Observation&)> observer{};
};

struct OptimizationResult {
  std::optional<Evaluation> best;    ///< with the full verdict; nullopt: no candidate passed
  double objective = 0;              ///< of the best, as verified; infinity without one
  std::optional<Evaluation> start;   ///< the first candidate that passed, which speedups compare with
  std::vector<Observation> history;  ///< in the order of evaluation
  std::vector<Evaluation> rejected;  ///< passed their trial, failed the full verdict
};

class KernelOptimizer {
 public:
  /// The evaluator must outlive the optimizer.
  KernelOptimizer(PerformanceEvaluator& evaluator, OptimizerOptions options);
  KernelOptimizer(KernelOptimizer&&) noexcept;
  KernelOptimizer& operator=(KernelOptimizer&&) noexcept;
  ~KernelOptimizer();

  /// The candidates of one kernel file and problem, in the order of the first guesses; any subset of what a
  /// generator made. What the objective throws passes through.
  Result<OptimizationResult> optimize(std::span<const KernelCandidate> candidates);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ak
