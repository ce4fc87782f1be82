#include "autokernel/kernel/spelling.h"

#include <gtest/gtest.h>

namespace ak::kernel {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("VEC", "VEC"), 0u);
  EXPECT_EQ(edit_distance("VEC", "VCE"), 1u);
  EXPECT_EQ(edit_distance("VEC", "VECT"), 1u);
  EXPECT_EQ(edit_distance("VEC", "EC"), 1u);
  EXPECT_EQ(edit_distance("VEC", "VAC"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearestName, PrefersTheNearestAndIgnoresCase) {
  const std::vector<std::string> names = {"THREADS", "VEC", "VECTOR"};
  EXPECT_EQ(nearest_name("vec", names), "VEC");
  EXPECT_EQ(nearest_name("THREAD", names), "THREADS");
  EXPECT_EQ(nearest_name("VECTR", names), "VECTOR");
}

TEST(NearestName, FarNamesAndSingleLettersSuggestNothing) {
  const std::vector<std::string> names = {"M", "N", "THREADS"};
  EXPECT_EQ(nearest_name("K", names), "");
  EXPECT_EQ(nearest_name("completely_other", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(10'000, 'x'), names), "");
}

TEST(SpellingHint, ListsTheCandidatesWhereNoneIsNear) {
  const std::vector<std::string> names = {"a1", "b1"};
  EXPECT_EQ(spelling_hint("zzz", names), "expected one of a1, b1");
  EXPECT_EQ(spelling_hint("zzz", {}), "");
}

TEST(Joined, LongListsAreShortened) {
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_EQ(joined(names, 2), "a, b, ... (3 in all)");
  EXPECT_EQ(joined(names), "a, b, c");
}

}  // namespace
}  // namespace ak::kernel
