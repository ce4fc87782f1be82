#pragma once
// The configs that were neither proposed nor recorded yet: removal, membership and a uniform draw in constant
// time.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "autokernel/base/random.h"

namespace ak::search {

class UntriedSet {
 public:
  explicit UntriedSet(std::size_t count);
  bool empty() const { return untried_.empty(); }
  std::size_t size() const { return untried_.size(); }
  bool contains(std::size_t index) const { return index < taken_.size() && !taken_[index]; }
  /// Nothing happens when it was removed before.
  void remove(std::size_t index);
  /// Uniform; the set must not be empty.
  std::size_t draw(Rng& rng) const { return untried_[static_cast<std::size_t>(rng.below(untried_.size()))]; }
  /// One flag per config, as Space::nearest takes it.
  const std::vector<bool>& taken() const { return taken_; }

 private:
  std::vector<std::uint32_t> untried_;   // in any order
  std::vector<std::uint32_t> position_;  // of each config in untried_
  std::vector<bool> taken_;
};

}  // namespace ak::search
