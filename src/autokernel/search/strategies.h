#pragma once
// The strategies that `create` knows by name, one source file each (exhaustive and random share one).

#include <memory>

#include "autokernel/search/strategy.h"

namespace ak::search {

/// Every config: first guesses in their order, then the rest by index.
std::unique_ptr<Strategy> make_exhaustive(const kernel::Space& space, StrategyOptions options);
/// Uniform without replacement, after the best first guess.
std::unique_ptr<Strategy> make_random(const kernel::Space& space, StrategyOptions options);
/// Hill climbing over one-tunable changes, restarted near the best (iterated local search).
std::unique_ptr<Strategy> make_local(const kernel::Space& space, StrategyOptions options);
/// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, 1983).
std::unique_ptr<Strategy> make_annealing(const kernel::Space& space, StrategyOptions options);
/// Steady-state genetic algorithm: tournaments, uniform crossover, mutation.
std::unique_ptr<Strategy> make_genetic(const kernel::Space& space, StrategyOptions options);
/// Differential evolution (Storn, Price, 1997) on coordinates, rounded to the nearest untried config.
std::unique_ptr<Strategy> make_differential_evolution(const kernel::Space& space, StrategyOptions options);
/// Gradient descent on a smooth surrogate fitted to the answers, projected to the nearest untried config.
std::unique_ptr<Strategy> make_gradient(const kernel::Space& space, StrategyOptions options);

}  // namespace ak::search
