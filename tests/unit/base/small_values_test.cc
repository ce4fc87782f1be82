// Results, hashes, random numbers and times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autokernel/base/clock.h"
#include "autokernel/base/hash.h"
#include "autokernel/base/random.h"
#include "autokernel/base/result.h"

namespace ak {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return usage_error("{} is odd", number);
  return number / 2;
}

Result<int> quarter(int number) {
  AK_TRY(once, half(number));
  AK_TRY(twice, half(once));
  return twice;
}

Status both_even(int a, int b) {
  AK_TRY_VOID(half(a));
  AK_TRY_VOID(half(b));
  return {};
}

TEST(Result, TryPassesTheValueOrTheFirstError) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(quarter(6).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(both_even(2, 4).has_value());
  EXPECT_EQ(both_even(2, 5).error().message, "5 is odd");
}

TEST(Result, ContextStandsBeforeTheMessage) {
  EXPECT_EQ((Error{ErrorCode::kUsage, "no such file"}).with_context("cannot read plan.json").message,
            "cannot read plan.json: no such file");
}

TEST(ResultDeathTest, AFailedCheckAbortsWithItsConditionAndPlace) {
  EXPECT_DEATH(AK_CHECK(1 + 1 == 3), "1 \\+ 1 == 3 does not hold .*small_values_test.cc:");
}

TEST(ContentHash, Has32HexDigitsThatNeverChange) {
  EXPECT_EQ(content_hash(""),
            "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing, from its specification
  EXPECT_EQ(content_hash("abc").size(), 32u);
}

TEST(ContentHash, PartsAreKeptApart) {
  EXPECT_NE(content_hash({"ab", "c"}), content_hash({"a", "bc"}));
  EXPECT_NE(content_hash({"abc"}), content_hash({"abc", ""}));
  EXPECT_EQ(content_hash({"ab", "c"}), content_hash({"ab", "c"}));
}

TEST(Rng, NumbersAreThoseOfThePublishedGenerator) {
  // xoshiro256** from the state 1, 2, 3, 4, computed by hand from its definition: rotl(2 * 5, 7) * 9 = 11520.
  Rng rng(0);
  ASSERT_TRUE(rng.restore("0000000000000001000000000000000200000000000000030000000000000004").has_value());
  EXPECT_EQ(rng.next(), 11520u);
  EXPECT_EQ(rng.next(), 0u);
  EXPECT_EQ(rng.next(), 1509978240u);
}

TEST(Rng, EqualSeedsGiveEqualNumbersAndOthersDoNot) {
  Rng a(7), b(7), c(8);
  const std::uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
}

TEST(Rng, BelowStaysBelowAndReachesEveryValue) {
  Rng rng(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.below(7));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, UniformLiesInTheUnitInterval) {
  Rng rng(2);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double x = rng.uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(Rng, NormalHasMeanZeroVarianceOneAndTails) {
  Rng rng(3);
  double sum = 0, squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double x = rng.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 2;
  }
  EXPECT_NEAR(sum / 20'000, 0, 0.03);
  EXPECT_NEAR(squares / 20'000, 1, 0.05);
  EXPECT_NEAR(beyond_two / 20'000.0, 0.0455, 0.01);
}

TEST(Rng, ShuffleKeepsEveryItem) {
  Rng rng(4);
  std::vector<int> items{1, 2, 3, 4, 5, 6, 7, 8};
  rng.shuffle(items);
  EXPECT_NE(items, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Rng, ARestoredStateGoesOnWhereItWasSaved) {
  Rng rng(5), other(6);
  rng.normal();
  const std::string state = rng.state();
  const std::uint64_t expected = rng.next();
  ASSERT_TRUE(other.restore(state).has_value());
  EXPECT_EQ(other.next(), expected);
}

TEST(Rng, RestoreRefusesWhatStateDidNotWrite) {
  Rng rng(5);
  const std::string before = rng.state();
  for (const std::string& bad : {std::string(), std::string(64, '0'), std::string(64, 'g'),
                                 std::string(63, '1'), std::string(65, '1'), std::string(64, 'A')}) {
    EXPECT_FALSE(rng.restore(bad).has_value()) << bad;
  }
  EXPECT_EQ(rng.state(), before);
}

TEST(SecretSeed, DiffersFromCallToCall) { EXPECT_NE(secret_seed(), secret_seed()); }

TEST(IsoTime, IsUtcWithSeconds) {
  using std::chrono::system_clock;
  EXPECT_EQ(iso_time(system_clock::time_point(std::chrono::seconds(1'796'061'514))), "2026-11-30T17:58:34Z");
  EXPECT_EQ(iso_time(system_clock::time_point(std::chrono::milliseconds(-1))), "1969-12-31T23:59:59Z");
}

TEST(FakeClock, MovesOnlyWhenTold) {
  FakeClock clock;
  const auto start = clock.now();
  EXPECT_EQ(clock.now(), start);
  clock.advance(std::chrono::milliseconds(1500));
  EXPECT_EQ(seconds_between(start, clock.now()), 1.5);
}

}  // namespace
}  // namespace ak
