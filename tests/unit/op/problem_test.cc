#include <gmock/gmock.h>

#include "sample_family.h"

namespace ak::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::sample;

Result<Problem> problem_of(const Family& family, std::string_view text, DType dtype = DType::kF32) {
  AK_TRY(size, parse_size(family, text));
  return make_problem(family, size, dtype);
}

TEST(ParseSize, TellsDimsFlagsScalarsAndTensorsApart) {
  const Result<Size> size = parse_size(sample(), "ROWS=16, COLS=32,GROUP=2 factor=1e-5,bias");
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_EQ(size->dims, (NamedInts{{"ROWS", 16}, {"COLS", 32}}));
  EXPECT_EQ(size->flags, (NamedInts{{"GROUP", 2}}));
  EXPECT_EQ(size->scalars.at("factor"), 1e-5);
  EXPECT_THAT(size->has, ElementsAre("bias"));
}

TEST(ParseSize, AnEmptyTextIsAnEmptySize) { EXPECT_TRUE(parse_size(sample(), " ,")->dims.empty()); }

TEST(ParseSize, AValueThatIsNoIntegerIsNamed) {
  for (const char* text : {"COLS=", "COLS=1.5", "COLS=1x", "COLS=99999999999999999999", "COLS=0x10"}) {
    EXPECT_THAT(message_of(parse_size(sample(), text)), HasSubstr("expected an integer")) << text;
  }
}

TEST(ParseSize, AWordThatIsNoTensorListsWhatIsExpected) {
  EXPECT_THAT(message_of(parse_size(sample(), "COLS=4,residual")), HasSubstr("optional tensors bias"));
}

TEST(ParseSize, ANameGivenTwiceIsAnError) {
  EXPECT_THAT(message_of(parse_size(sample(), "COLS=4,COLS=5")), HasSubstr("COLS is given twice"));
}

TEST(MakeProblem, FillsDefaultsAndDerivedDims) {
  const Result<Problem> problem = problem_of(sample(), "COLS=5,GROUP=4");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->dims, (NamedInts{{"ROWS", 8}, {"COLS", 5}, {"G", 2}}));
  EXPECT_EQ(problem->flags, (NamedInts{{"GROUP", 4}, {"MODE", 0}}));
  EXPECT_EQ(problem->scalars.at("factor"), 2);
  EXPECT_EQ(problem->scalars.at("IGNORE"), -100);
  EXPECT_EQ(problem->op, "scale_rows");
}

TEST(MakeProblem, ADerivedDimMayBeRepeatedButNotContradicted) {
  EXPECT_TRUE(problem_of(sample(), "COLS=5,GROUP=4,G=2"));
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=5,GROUP=4,G=3")), HasSubstr("from which 2 follows"));
}

TEST(MakeProblem, AMissingDimListsWhatIsExpected) {
  EXPECT_THAT(message_of(problem_of(sample(), "ROWS=4")),
              HasSubstr("the dim COLS is missing: expected dims ROWS, COLS"));
}

TEST(MakeProblem, AnUnknownDimListsWhatIsExpected) {
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=4,M=2")), HasSubstr("has no dim `M`"));
}

TEST(MakeProblem, DimsAreAtLeastOneAndFitAnInt) {
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=0")), HasSubstr("at least 1"));
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=-3")), HasSubstr("at least 1"));
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=2147483648")), HasSubstr("the largest dim"));
}

TEST(MakeProblem, AProductThatOverflowsIsAnError) {
  EXPECT_THAT(message_of(problem_of(sample(), "ROWS=2147483647,COLS=2147483647")), HasSubstr("overflows"));
}

TEST(MakeProblem, AFlagOutsideItsValuesAndRangeIsAnError) {
  EXPECT_TRUE(problem_of(sample(), "ROWS=16,COLS=4,GROUP=16"));
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=4,GROUP=17")), HasSubstr("expected 1 to 16"));
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=4,MODE=2")), HasSubstr("expected 0, 1"));
}

TEST(MakeProblem, AViolatedConditionIsQuoted) {
  EXPECT_THAT(message_of(problem_of(sample(), "ROWS=3,COLS=4,GROUP=2")), HasSubstr("`ROWS % GROUP == 0`"));
}

TEST(MakeProblem, AnIntegerScalarTakesNoFraction) {
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=4,IGNORE=1.5")), HasSubstr("no 32-bit integer"));
}

TEST(MakeProblem, ScalarsAreFinite) {
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=4,factor=inf")), HasSubstr("no finite float"));
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=4,factor=1e300")), HasSubstr("no finite float"));
}

TEST(MakeProblem, ADtypeThatTheFamilyLacksListsItsOwn) {
  EXPECT_THAT(message_of(problem_of(sample(), "COLS=4", DType::kBF16)),
              HasSubstr("no dtype bf16: expected f32, f16"));
}

TEST(MakeProblem, OptionalTensorsAreSortedAndUnique) {
  Size size{.dims = {{"COLS", 4}}, .flags = {}, .has = {"bias", "x", "bias"}, .scalars = {}};
  EXPECT_THAT(make_problem(sample(), size, DType::kF32)->has, ElementsAre("bias"));
}

TEST(Shapes, FollowDimsAndFlags) {
  const Family family = sample();
  const Result<Problem> problem = problem_of(family, "ROWS=6,COLS=5,MODE=1");
  ASSERT_TRUE(problem);
  EXPECT_THAT(*shape_of(family, *family.tensor("x"), *problem), ElementsAre(6, 10));
  EXPECT_EQ(*element_count(family, *family.tensor("x"), *problem), 60U);
  EXPECT_EQ(dtype_of(*family.tensor("index"), *problem), DType::kI64);
  EXPECT_EQ(dtype_of(*family.tensor("x"), *problem), DType::kF32);
}

TEST(Costs, CountIndexPairsAndPresentTensors) {
  const Family family = sample();
  // i >= k with i < 4, k < 3: 1 + 2 + 3 + 3 pairs.
  EXPECT_EQ(*useful_flops(family, *problem_of(family, "ROWS=4,COLS=3")), 12 + 9);
  EXPECT_EQ(*useful_flops(family, *problem_of(family, "ROWS=4,COLS=3,bias")), 24 + 9);
  EXPECT_EQ(*compulsory_bytes(family, *problem_of(family, "ROWS=4,COLS=3", DType::kF16)), 48);
}

TEST(Costs, ACountOverTooManyCombinationsIsAnError) {
  const Family family = sample();
  EXPECT_THAT(message_of(useful_flops(family, *problem_of(family, "ROWS=100000,COLS=100000"))),
              HasSubstr("the count PAIRS runs over more than"));
}

TEST(Costs, DistinctValuesAndSumsAreCounted) {
  const Result<Family> distinct =
      testing::load_text(testing::changed("where = \"i >= k\"", "distinct = \"(i + k) % 4\""));
  ASSERT_TRUE(distinct) << distinct.error().message;
  EXPECT_EQ(*useful_flops(*distinct, *problem_of(*distinct, "ROWS=5,COLS=7")), 35 + 4);
  const Result<Family> sum = testing::load_text(testing::changed("where = \"i >= k\"", "sum = \"i * k\""));
  ASSERT_TRUE(sum) << sum.error().message;
  EXPECT_EQ(*useful_flops(*sum, *problem_of(*sum, "ROWS=3,COLS=3")), 9 + 9);
}

}  // namespace
}  // namespace ak::op
