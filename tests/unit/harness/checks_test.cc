#include "autokernel/harness/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace ak::harness {
namespace {

using ::testing::HasSubstr;

TEST(CheckSet, HasEveryCheckOn) {
  for (std::string_view id : check_ids()) EXPECT_TRUE(CheckSet::all().on(id)) << id;
  EXPECT_TRUE(CheckSet::all().complete());
}

TEST(CheckSet, SwitchesOffOnlyWhatIsNamed) {
  auto set = CheckSet::without({"numeric", "floor"});
  ASSERT_TRUE(set);
  for (std::string_view id : check_ids()) EXPECT_EQ(set->on(id), id != "numeric" && id != "floor") << id;
  EXPECT_FALSE(set->complete());
}

TEST(CheckSet, AnUnknownIdIsAnErrorThatListsTheChecks) {
  auto set = CheckSet::without({"numeric", "nonsense"});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kUsage);
  EXPECT_THAT(set.error().message, HasSubstr("`nonsense`"));
  EXPECT_THAT(set.error().message, HasSubstr("guard.poison"));
}

TEST(CheckSet, IdsAreDistinct) {
  const std::set<std::string_view> distinct(check_ids().begin(), check_ids().end());
  EXPECT_EQ(distinct.size(), check_ids().size());
}

}  // namespace
}  // namespace ak::harness
