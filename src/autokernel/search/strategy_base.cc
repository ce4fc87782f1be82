#include "autokernel/search/strategy_base.h"

#include <algorithm>
#include <cmath>

namespace ak::search {

StrategyBase::StrategyBase(std::string_view name, const kernel::Space& space, StrategyOptions options,
                           std::size_t guesses)
    : name_(name),
      space_(&space),
      options_(std::move(options)),
      guesses_(std::min(guesses, options_.first_guesses.size())),
      untried_(space.size()),
      rng_(options_.seed),
      objectives_(space.size(), std::nan("")) {
  for (std::size_t d = 0; d < space.dimensions(); ++d) {
    if (space.tunables()[d].values.size() > 1) free_.push_back(d);
  }
}

std::optional<std::size_t> StrategyBase::propose() {
  if (untried_.empty()) return std::nullopt;
  const std::optional<std::size_t> guess = next_guess();
  const std::size_t index = guess ? *guess : choose();
  AK_CHECK(untried_.contains(index));
  untried_.remove(index);
  pending_.push_back(index);
  return index;
}

void StrategyBase::observe(std::size_t index, double objective) {
  AK_CHECK(index < space_->size());
  if (!std::isfinite(objective)) objective = kFailed;
  untried_.remove(index);
  std::erase(pending_, index);
  if (std::isnan(objectives_[index])) measured_.push_back(index);
  objectives_[index] = objective;
  if (index == best_) {  // told again, perhaps as slower
    best_.reset();
    for (const std::size_t other : measured_) {
      if (objectives_[other] != kFailed && (!best_ || objectives_[other] < objectives_[*best_]))
        best_ = other;
    }
  } else if (objective != kFailed && (!best_ || objective < objectives_[*best_])) {
    best_ = index;
  }
  learn(index, objective);
}

std::optional<std::size_t> StrategyBase::next_guess() {
  while (next_guess_ < guesses_) {
    const std::size_t index = options_.first_guesses[next_guess_++];
    if (untried_.contains(index)) return index;
  }
  return std::nullopt;
}

std::optional<double> StrategyBase::known(std::size_t index) const {
  if (std::isnan(objectives_[index])) return std::nullopt;
  return objectives_[index];
}

Coordinates StrategyBase::coordinates(std::size_t index) const {
  const auto point = space_->coordinates(index);
  return {point.begin(), point.end()};
}

std::size_t StrategyBase::nearest_untried(std::vector<double> point) {
  Coordinates rounded(point.size());
  for (std::size_t d = 0; d < point.size(); ++d) {
    const auto last = static_cast<double>(space_->tunables()[d].values.size() - 1);
    rounded[d] = static_cast<std::uint16_t>(std::clamp(std::round(point[d]), 0.0, last));
  }
  const auto exact = space_->index_at(rounded);
  if (exact && untried_.contains(*exact)) return *exact;
  // Equally near points are many on a grid: without jitter the lowest index would always win.
  for (double& position : point) position += 0.9 * (rng_.uniform() - 0.5);
  const auto nearest = space_->nearest(point, untried_.taken());
  AK_CHECK(nearest.has_value());
  return *nearest;
}

void StrategyBase::mutate(Coordinates& point, std::size_t changes) {
  std::vector<std::size_t> dimensions = free_;
  changes = std::min(changes, dimensions.size());
  for (std::size_t i = 0; i < changes; ++i) {
    std::swap(dimensions[i], dimensions[i + rng_.below(dimensions.size() - i)]);
    const std::size_t d = dimensions[i];
    const auto other = static_cast<std::uint16_t>(rng_.below(space_->tunables()[d].values.size() - 1));
    point[d] = static_cast<std::uint16_t>(other < point[d] ? other : other + 1);
  }
}

std::optional<std::size_t> StrategyBase::draw_around(std::size_t index, std::size_t changes, int attempts) {
  for (int i = 0; i < attempts; ++i) {
    Coordinates point = coordinates(index);
    mutate(point, changes);
    const auto found = space_->index_at(point);
    if (found && untried_.contains(*found)) return found;
  }
  return std::nullopt;
}

double relative_change(double from, double to) {
  if (from == to) return 0;
  if (to == kFailed) return std::numeric_limits<double>::infinity();
  if (from == kFailed) return -std::numeric_limits<double>::infinity();
  return (to - from) / std::max(std::abs(from), std::abs(to));
}

}  // namespace ak::search
