#pragma once
// When a search ends. Rules are asked between two trials and combined: the first one that says stop, with its
// reason.
//
//   rules.push_back(search::stop_after_seconds(600));
//   if (auto reason = search::first_reached(rules, progress)) finish(*reason);

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "autokernel/base/result.h"

namespace ak::search {

struct Progress {
  std::size_t trials = 0;  ///< answers so far, failures included
  double elapsed_s = 0;    ///< of this search, over all of its runs
  double best = std::numeric_limits<double>::infinity();
  std::size_t since_improvement = 0;  ///< trials after the one that gave `best`

  /// One more trial with this objective.
  void add(double objective);
};

class StopRule {
 public:
  virtual ~StopRule() = default;
  /// Why to stop, as a part of a sentence ("100 trials are done"); nullopt: go on.
  virtual std::optional<std::string> reached(const Progress& progress) const = 0;
};

std::unique_ptr<StopRule> stop_after_trials(std::size_t trials);
std::unique_ptr<StopRule> stop_after_seconds(double seconds);
/// No improvement in so many trials, once something worked.
std::unique_ptr<StopRule> stop_without_improvement(std::size_t trials);
/// The best is within `fraction` of the floor: floor / best >= fraction (0.9: 90 % of the floor).
std::unique_ptr<StopRule> stop_near_floor(double floor, double fraction);

std::optional<std::string> first_reached(std::span<const std::unique_ptr<StopRule>> rules,
                                         const Progress& progress);

}  // namespace ak::search
