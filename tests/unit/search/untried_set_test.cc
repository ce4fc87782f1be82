#include "autokernel/search/untried_set.h"

#include <gtest/gtest.h>

#include <set>

namespace ak::search {
namespace {

TEST(UntriedSet, DrawsOnlyWhatWasNotRemoved) {
  UntriedSet set(10);
  Rng rng(1);
  std::set<std::size_t> drawn;
  while (!set.empty()) {
    const std::size_t index = set.draw(rng);
    EXPECT_TRUE(set.contains(index));
    EXPECT_TRUE(drawn.insert(index).second);
    set.remove(index);
    EXPECT_FALSE(set.contains(index));
  }
  EXPECT_EQ(drawn.size(), 10u);
}

TEST(UntriedSet, RemovingTwiceChangesNothing) {
  UntriedSet set(3);
  set.remove(1);
  set.remove(1);
  EXPECT_EQ(set.size(), 2u);
  EXPECT_EQ(set.taken(), (std::vector<bool>{false, true, false}));
}

TEST(UntriedSet, ContainsNothingBeyondItsEnd) { EXPECT_FALSE(UntriedSet(3).contains(3)); }

}  // namespace
}  // namespace ak::search
