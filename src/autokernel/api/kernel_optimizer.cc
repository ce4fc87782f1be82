#include "autokernel/kernel_optimizer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autokernel/api/candidate_data.h"
#include "autokernel/kernel/space.h"
#include "autokernel/kernel/values.h"
#include "autokernel/search/strategy.h"

namespace ak {
namespace {

constexpr std::size_t kAhead = 4;         ///< candidates that are compiled together before they are timed
constexpr std::size_t kFullAttempts = 3;  ///< candidates for the full verdict, as in `autokernel tune`

/// The candidates as a space, in which index i is candidate i: strategies then search any selection of them.
Result<kernel::Space> space_of(std::span<const KernelCandidate> candidates) {
  if (candidates.empty()) return usage_error("there are no candidates to optimize");
  const CandidateOrigin& origin = *candidates.front().data().origin;
  std::vector<kernel::Tunable> tunables = origin.file.tunables;
  if (tunables.empty()) tunables.push_back({"none", {std::int64_t{0}}});
  std::vector<std::uint16_t> points;
  std::set<std::string> seen;
  for (const KernelCandidate& candidate : candidates) {
    if (candidate.data().origin->key() != origin.key()) {
      return usage_error("the candidates must be of one kernel file and one problem, to be compared");
    }
    if (!seen.insert(candidate.description()).second) {
      return usage_error("candidate {} is there twice", candidate.description());
    }
    for (const kernel::Tunable& tunable : origin.file.tunables) {
      points.push_back(*kernel::position_of(tunable, candidate.parameters().at(tunable.name)));
    }
    if (origin.file.tunables.empty()) points.push_back(0);
  }
  return kernel::Space::from_points(std::move(tunables), std::move(points));
}

}  // namespace

struct KernelOptimizer::Impl {
  PerformanceEvaluator* evaluator;
  OptimizerOptions options;

  double objective_of(const Evaluation& evaluation) const {
    if (!evaluation.passed()) return search::kFailed;
    double value =
        options.objective ? options.objective(evaluation.metrics) : evaluation.metrics.execution_time.value;
    return std::isnan(value) ? search::kFailed : value;
  }

  Status search(std::span<const KernelCandidate> candidates, search::Strategy& strategy,
                OptimizationResult& result) const;
  Status choose(OptimizationResult& result) const;
};

KernelOptimizer::KernelOptimizer(PerformanceEvaluator& evaluator, OptimizerOptions options)
    : impl_(std::make_unique<Impl>(Impl{&evaluator, std::move(options)})) {}
KernelOptimizer::KernelOptimizer(KernelOptimizer&&) noexcept = default;
KernelOptimizer& KernelOptimizer::operator=(KernelOptimizer&&) noexcept = default;
KernelOptimizer::~KernelOptimizer() = default;

// Drives the strategy itself: the campaign's loop minimises the target's own objective and keeps a workspace,
// a ledger and a git history, while here the objective is the caller's function and nothing is written.
// Timing, paired with the first candidate, is the campaign's.
Status KernelOptimizer::Impl::search(std::span<const KernelCandidate> candidates, search::Strategy& strategy,
                                     OptimizationResult& result) const {
  while (result.history.size() < options.budget) {
    std::vector<std::size_t> batch;
    std::vector<KernelCandidate> proposed;
    while (batch.size() < std::min(kAhead, options.budget - result.history.size())) {
      std::optional<std::size_t> index = strategy.propose();
      if (!index) break;
      batch.push_back(*index);
      proposed.push_back(candidates[*index]);
    }
    if (batch.empty()) return {};
    AK_TRY_VOID(evaluator->prepare(proposed));
    for (std::size_t index : batch) {
      AK_TRY(evaluation, evaluator->evaluate(candidates[index]));
      if (!result.start && evaluation.passed()) result.start = evaluation;
      double objective = objective_of(evaluation);
      strategy.observe(index, objective);
      result.history.push_back({std::move(evaluation), objective});
      if (options.observer && !options.observer(result.history.back())) return {};
    }
  }
  return {};
}

/// The full verdict on the best ones, in a fresh worker: what won a noisy search may have been lucky.
Status KernelOptimizer::Impl::choose(OptimizationResult& result) const {
  std::vector<const Observation*> order;
  for (const Observation& each : result.history) {
    if (each.objective < search::kFailed) order.push_back(&each);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Observation* a, const Observation* b) { return a->objective < b->objective; });
  if (order.size() > kFullAttempts) order.resize(kFullAttempts);
  result.objective = search::kFailed;
  auto take = [&](const Evaluation& evaluation, double objective) {
    if (objective >= result.objective) return;
    result.best = evaluation;
    result.objective = objective;
  };
  for (const Observation* each : order) {
    if (each->evaluation.depth == Evaluation::Depth::kFull) {
      take(each->evaluation, each->objective);
      break;
    }
    AK_TRY(verified, evaluator->verify(each->evaluation.candidate));
    if (verified.passed()) {
      take(verified, objective_of(verified));
      break;
    }
    result.rejected.push_back(std::move(verified));
  }
  // A winner that did not hold what it promised, or none: the start has its full verdict already, unless the
  // evaluator had seen others before it.
  if (result.start && result.start->depth == Evaluation::Depth::kFull)
    take(*result.start, objective_of(*result.start));
  return {};
}

Result<OptimizationResult> KernelOptimizer::optimize(std::span<const KernelCandidate> candidates) {
  if (impl_->options.budget == 0)
    return usage_error("OptimizerOptions::budget is 0: nothing may be evaluated");
  AK_TRY(space, space_of(candidates));
  search::StrategyOptions options;
  options.seed = impl_->options.seed;
  options.budget = impl_->options.budget;
  for (std::size_t i = 0; i < candidates.size(); ++i) options.first_guesses.push_back(i);
  AK_TRY(strategy, search::create(impl_->options.strategy, space, std::move(options)));
  OptimizationResult result;
  AK_TRY_VOID(impl_->search(candidates, *strategy, result));
  AK_TRY_VOID(impl_->choose(result));
  return result;
}

}  // namespace ak
