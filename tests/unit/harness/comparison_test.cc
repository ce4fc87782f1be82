#include "autokernel/harness/comparison.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace ak::harness {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// One row of what ak_compare writes.
struct Row {
  double worst = 0, where = -1, bad = 0, y = 0, b = 0, u = 0, s = 1, unequal = 0, left = 0;
};

ComparisonResult summarize(const std::vector<Row>& rows, bool with_norms = true) {
  std::vector<double> doubles;
  for (const Row& r : rows) {
    doubles.insert(doubles.end(), {r.worst, r.where, r.bad, r.y, r.b, r.u, r.s, r.unequal, r.left});
  }
  return summarize_rows(doubles, with_norms);
}

TEST(Comparison, OfNothingIsFlawless) {
  const ComparisonResult result = summarize({});
  EXPECT_EQ(result.worst, 0);
  EXPECT_EQ(result.bad, 0u);
}

TEST(Comparison, TheWorstElementOfAllRowsIsTold) {
  const ComparisonResult result =
      summarize({{.worst = 0.5, .where = 3}, {.worst = 0.9, .where = 17}, {.worst = 0.1}});
  EXPECT_EQ(result.worst, 0.9);
  EXPECT_EQ(result.worst_at, 17u);
}

TEST(Comparison, BadAndUnwrittenElementsAreAddedUp) {
  const ComparisonResult result =
      summarize({{.worst = 2, .bad = 3, .left = 1}, {.worst = 4, .bad = 5, .left = 2}});
  EXPECT_EQ(result.bad, 8u);
  EXPECT_EQ(result.unwritten, 3u);
}

TEST(Comparison, ANanIsTheWorstAndNotTheBest) {
  for (double worst : {kNan, kInf, 1e300}) {
    const ComparisonResult result =
        summarize({{.worst = 0.5, .where = 1}, {.worst = worst, .where = 9, .bad = 1}});
    EXPECT_EQ(result.worst, kInf) << worst;
    EXPECT_EQ(result.worst_at, 9u);
    EXPECT_EQ(result.bad, 1u);
  }
}

TEST(Comparison, ANanInANormNeverComparesAsSmall) {
  const ComparisonResult result = summarize({{.y = kNan}, {.y = 1}});
  EXPECT_FALSE(result.norm_y <= 1e300);
}

TEST(Comparison, NormsAreScaledByEachRowsS) {
  const ComparisonResult result =
      summarize({{.y = 4, .b = 8, .u = 12, .s = 2}, {.y = 5, .b = 10, .u = 15, .s = 5}});
  EXPECT_EQ(result.norm_y, 3);
  EXPECT_EQ(result.norm_b, 6);
  EXPECT_EQ(result.norm_u, 9);
}

TEST(Comparison, RowsThatAllowNoErrorMustEqualTheContract) {
  const ComparisonResult result = summarize({{.y = 100, .s = 0, .unequal = 7}, {.s = 1, .unequal = 5}});
  EXPECT_EQ(result.unequal_zero_rows, 7u);
  EXPECT_EQ(result.norm_y, 0);
}

TEST(Comparison, WithoutNormsOnlyTheElementsCount) {
  const ComparisonResult result = summarize({{.worst = 0.5, .y = 100, .s = 0, .unequal = 7}}, false);
  EXPECT_EQ(result.unequal_zero_rows, 0u);
  EXPECT_EQ(result.norm_y, 0);
  EXPECT_EQ(result.worst, 0.5);
}

TEST(Comparison, ATruncatedRowIsLeftOut) {
  std::array<double, kCompareRowDoubles + 3> doubles{};
  doubles[0] = 0.25;
  doubles[kCompareRowDoubles] = 99;
  EXPECT_EQ(summarize_rows(doubles, true).worst, 0.25);
}

TEST(Digest, DoesNotDependOnTheOrderOfThePartials) {
  const std::array<std::uint64_t, 3> a = {1, ~std::uint64_t{0}, 5}, b = {5, 1, ~std::uint64_t{0}};
  EXPECT_EQ(combine_digest(a), combine_digest(b));
}

TEST(Digest, EveryByteIsCoveredByAPartial) {
  EXPECT_EQ(digest_partials({.dtype = DType::kF32, .elements = 512}), 1u);
  EXPECT_EQ(digest_partials({.dtype = DType::kF32, .elements = 513}), 2u);
  EXPECT_EQ(digest_partials({.dtype = DType::kF16, .elements = 1025}), 2u);
}

}  // namespace
}  // namespace ak::harness
