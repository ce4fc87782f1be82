#include "autokernel/base/expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>

namespace ak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Result<std::int64_t> evaluate(std::string_view text,
                              const std::map<std::string, std::int64_t, std::less<>>& names = {}) {
  AK_TRY(expr, Expr::parse(text));
  return expr.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = names.find(name);
    if (found == names.end()) return std::nullopt;
    return found->second;
  });
}

std::int64_t value(std::string_view text,
                   const std::map<std::string, std::int64_t, std::less<>>& names = {}) {
  const auto result = evaluate(text, names);
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return result.value_or(-999'999);
}

std::string message(std::string_view text,
                    const std::map<std::string, std::int64_t, std::less<>>& names = {}) {
  const auto result = evaluate(text, names);
  EXPECT_FALSE(result.has_value()) << text << " = " << *result;
  return result ? "" : result.error().message;
}

TEST(Expr, PrecedenceIsThatOfC) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1 + 2) * 3"), 9);
  EXPECT_EQ(value("10 - 4 - 3"), 3);
  EXPECT_EQ(value("100 / 10 / 5"), 2);
  EXPECT_EQ(value("1 || 0 && 0"), 1);
  EXPECT_EQ(value("1 == 1 && 2 < 3"), 1);
  EXPECT_EQ(value("2 < 1 == 0"), 1);
  EXPECT_EQ(value("-2 * -3"), 6);
  EXPECT_EQ(value("!0 + 1"), 2);
  EXPECT_EQ(value("+5 - -5"), 10);
  EXPECT_EQ(value("7 % 4 * 2"), 6);
}

TEST(Expr, DivisionTruncatesTowardsZeroAsInC) {
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("-7 % 2"), -1);
}

TEST(Expr, CeilDivRoundsUpForEverySign) {
  EXPECT_EQ(value("ceil_div(7, 2)"), 4);
  EXPECT_EQ(value("ceil_div(8, 2)"), 4);
  EXPECT_EQ(value("ceil_div(0, 5)"), 0);
  EXPECT_EQ(value("ceil_div(-7, 2)"), -3);
  EXPECT_EQ(value("ceil_div(7, -2)"), -3);
  EXPECT_EQ(value("ceil_div(-7, -2)"), 4);
  EXPECT_EQ(value("ceil_div(9223372036854775807, 2)"), 4611686018427387904);
}

TEST(Expr, MinAndMaxTakeTwoOrMoreArguments) {
  EXPECT_EQ(value("min(3, 1, 2)"), 1);
  EXPECT_EQ(value("max(3, 1, 2) + min(4, 5)"), 7);
}

TEST(Expr, ConditionalsNestToTheRight) {
  EXPECT_EQ(value("0 ? 1 : 0 ? 2 : 3"), 3);
  EXPECT_EQ(value("1 ? 0 ? 4 : 5 : 6"), 5);
  EXPECT_EQ(value("(N > 4 ? 8 : 2) * 3", {{"N", 5}}), 24);
}

TEST(Expr, LogicalOperatorsYieldZeroOrOne) {
  EXPECT_EQ(value("7 && 9"), 1);
  EXPECT_EQ(value("0 || 9"), 1);
  EXPECT_EQ(value("9 || 0"), 1);
  EXPECT_EQ(value("true + true"), 2);
  EXPECT_EQ(value("!false"), 1);
}

TEST(Expr, OnlyWhatIsNeededIsEvaluated) {
  EXPECT_EQ(value("0 && 1 / 0"), 0);
  EXPECT_EQ(value("1 || missing"), 1);
  EXPECT_EQ(value("1 ? 5 : missing"), 5);
  EXPECT_EQ(value("0 ? 1 % 0 : 6"), 6);
}

TEST(Expr, NamesAreDistinctAndInOrderOfAppearance) {
  const auto expr = Expr::parse("B + A * B + min(C, A)");
  ASSERT_TRUE(expr.has_value());
  EXPECT_THAT(expr->names(), ElementsAre("B", "A", "C"));
}

TEST(Expr, SlotsGiveTheSameResultAsNames) {
  const auto expr = Expr::parse("THREADS * VEC <= 8192 && N % VEC == 0");
  ASSERT_TRUE(expr.has_value());
  EXPECT_EQ(*expr->evaluate(std::array<std::int64_t, 3>{256, 8, 4096}), 1);
  EXPECT_EQ(*expr->evaluate(std::array<std::int64_t, 3>{1024, 16, 4096}), 0);
  EXPECT_EQ(*expr->evaluate(std::array<std::int64_t, 3>{1, 3, 4096}), 0);
}

TEST(Expr, OverflowIsAnErrorWithItsColumn) {
  EXPECT_THAT(message("1 + N * 2", {{"N", kMax}}),
              StartsWith("column 7: the result does not fit into 64 bits"));
  EXPECT_THAT(message("N + 1", {{"N", kMax}}), StartsWith("column 3: the result does not fit"));
  EXPECT_THAT(message("N - 1", {{"N", kMin}}), StartsWith("column 3: the result does not fit"));
  EXPECT_THAT(message(" -N", {{"N", kMin}}), StartsWith("column 2: the result does not fit"));
  EXPECT_THAT(message("N / -1", {{"N", kMin}}), StartsWith("column 3: the result does not fit"));
  EXPECT_THAT(message("N % -1", {{"N", kMin}}), StartsWith("column 3: the result does not fit"));
  EXPECT_THAT(message("ceil_div(N, -1)", {{"N", kMin}}), StartsWith("column 1: the result does not fit"));
}

TEST(Expr, DivisionByZeroIsAnErrorWithItsColumn) {
  EXPECT_THAT(message("8 / N", {{"N", 0}}), StartsWith("column 3: division by zero"));
  EXPECT_THAT(message("8 % (1 - 1)"), StartsWith("column 3: division by zero"));
  EXPECT_THAT(message("1 + ceil_div(8, 0)"), StartsWith("column 5: division by zero"));
}

TEST(Expr, AnUnknownNameIsAnErrorWithItsColumn) {
  EXPECT_THAT(message("1 + TREADS"), StartsWith("column 5: unknown name 'TREADS'"));
}

TEST(Expr, TheCaretStandsBelowTheColumn) {
  EXPECT_EQ(message("ceil_div(M BM)"),
            "column 12: expected ',' or ')', found 'B'\n"
            "  ceil_div(M BM)\n"
            "             ^");
  EXPECT_EQ(message("1 +"),
            "column 4: expected a number, a name or '(', found the end\n"
            "  1 +\n"
            "     ^");
}

TEST(Expr, MistakesAreNamed) {
  EXPECT_THAT(message("a = 3"), HasSubstr("equality is '=='"));
  EXPECT_THAT(message("a & 3"), HasSubstr("and is '&&'"));
  EXPECT_THAT(message("1.5"), HasSubstr("decimal integer"));
  EXPECT_THAT(message("0x10"), HasSubstr("decimal integer"));
  EXPECT_THAT(message("010"), HasSubstr("decimal integer"));
  EXPECT_THAT(message("16u"), HasSubstr("decimal integer"));
  EXPECT_THAT(message("9223372036854775808"), HasSubstr("does not fit into 64 bits"));
  EXPECT_THAT(message("round(3)"), HasSubstr("unknown function 'round'"));
  EXPECT_THAT(message("min(3)"), HasSubstr("at least two arguments, 1 given"));
  EXPECT_THAT(message("ceil_div(1, 2, 3)"), HasSubstr("two arguments, 3 given"));
  EXPECT_THAT(message("(1"), HasSubstr("expected an operator or ')', found the end"));
  EXPECT_THAT(message("1 ? 2"), HasSubstr("expected ':'"));
  EXPECT_THAT(message("1 2"), HasSubstr("expected an operator or the end, found '2'"));
  EXPECT_THAT(message("a\xc3\xa4"), HasSubstr("not ASCII"));
  EXPECT_THAT(message(""), StartsWith("column 1: expected a number"));
  EXPECT_THAT(message("   "), HasSubstr("found the end"));
}

TEST(Expr, NestingUpTo64LevelsIsAcceptedAndDeeperIsAnError) {
  const auto nested = [](int depth) { return std::string(depth, '(') + "1" + std::string(depth, ')'); };
  EXPECT_EQ(value(nested(64)), 1);
  EXPECT_THAT(message(nested(65)), StartsWith("column 65: nested deeper than 64 levels"));
  EXPECT_THAT(message(std::string(65, '-') + "1"), HasSubstr("nested deeper"));
  EXPECT_THAT(message(nested(5'000)), HasSubstr("nested deeper"));
}

TEST(Expr, NestingCountsWhatIsOpenAtATime) {
  std::string sum = "(1)", chain;
  for (int i = 0; i < 200; ++i) sum += " + (1)";
  for (int i = 0; i < 200; ++i) chain += "N == " + std::to_string(i) + " ? " + std::to_string(i * i) + " : ";
  EXPECT_EQ(value(sum), 201);
  EXPECT_EQ(value(chain + "0", {{"N", 150}}), 22'500);
}

TEST(Expr, TheDeepestMixtureOfOperatorsStaysWithinTheStack) {
  std::string text = "1";
  for (int i = 0; i < 64; ++i) text = "0 || 1 && 2 == 1 < 1 + 1 * (" + text + ")";
  EXPECT_TRUE(evaluate(text).has_value());
}

TEST(Expr, AnExpressionLongerThanTheLimitIsAnError) {
  EXPECT_THAT(message(std::string(20'000, ' ') + "1"), HasSubstr("longer than"));
}

TEST(Expr, ACopyWorksAfterTheOriginalIsGone) {
  auto original = std::make_unique<Expr>(*Expr::parse("A + 1"));
  const Expr copy = *original;
  original.reset();
  EXPECT_EQ(*copy.evaluate(std::array<std::int64_t, 1>{41}), 42);
}

TEST(Expr, AnErrorCanBeTakenApartForALargerFile) {
  const auto failed = Expr::parse("1 + * 2");
  ASSERT_FALSE(failed.has_value());
  const ExprErrorPlace place = place_of_expr_error(failed.error());
  EXPECT_EQ(place.column, 5);
  EXPECT_EQ(place.message, "expected a number, a name or '(', found '*'");
}

TEST(Expr, AnErrorOfAnotherOriginKeepsItsMessage) {
  const ExprErrorPlace place = place_of_expr_error(Error{ErrorCode::kUsage, "column store: full"});
  EXPECT_EQ(place.column, 1);
  EXPECT_EQ(place.message, "column store: full");
}

}  // namespace
}  // namespace ak
