#include "autokernel/search/untried_set.h"

#include <limits>
#include <numeric>

#include "autokernel/base/result.h"

namespace ak::search {

UntriedSet::UntriedSet(std::size_t count) : untried_(count), position_(count), taken_(count) {
  AK_CHECK(count <= std::numeric_limits<std::uint32_t>::max());
  std::iota(untried_.begin(), untried_.end(), 0u);
  std::iota(position_.begin(), position_.end(), 0u);
}

void UntriedSet::remove(std::size_t index) {
  AK_CHECK(index < taken_.size());
  if (taken_[index]) return;
  taken_[index] = true;
  const std::uint32_t hole = position_[index];
  untried_[hole] = untried_.back();
  position_[untried_[hole]] = hole;
  untried_.pop_back();
}

}  // namespace ak::search
