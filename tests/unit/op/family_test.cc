#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "sample_family.h"

namespace ak::op {
namespace {

using testing::changed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::load_text;
using testing::message_of;
using testing::sample;

/// What load_family says when one place of the sample is changed.
std::string error_with(std::string_view from, std::string_view to) {
  return message_of(load_text(changed(from, to)));
}

TEST(Family, KeepsDimsTensorsAndOutputsInTheOrderWritten) {
  const Family family = sample();
  EXPECT_THAT(family.dims, ElementsAre("ROWS", "COLS"));
  ASSERT_EQ(family.tensors.size(), 5U);
  EXPECT_EQ(family.tensors[2].name, "bias");
  EXPECT_TRUE(family.tensors[2].optional);
  EXPECT_EQ(family.tensors[1].dtype, DType::kI64);
  EXPECT_EQ(family.derived.front().first, "G");
}

TEST(Family, ReadsHowItIsJudged) {
  const Family family = sample();
  EXPECT_EQ(family.tolerance.c, 2.5);
  EXPECT_EQ(family.tolerance.row_elements.at("y").text(), "COLS");
  ASSERT_EQ(family.draws.size(), 1U);
  EXPECT_EQ(family.draws[0].tensors.at("x").params.at("stddev"), 2);
  EXPECT_EQ(family.draws[0].tensors.at("index").exprs.at("high").text(), "COLS");
  EXPECT_EQ(family.probes[0].params.at("height"), 16);
  EXPECT_EQ(family.sizes.at("sweep")[0].scalars.at("factor"), 0.5);
}

TEST(Family, KeepsTheMatchTablesInItsDocument) {
  EXPECT_EQ(sample().document.root()["match"][0]["aten"], "aten::scale_rows");
}

TEST(Family, AnOutputComesWithItsOptionalInput) {
  const Family family = sample();
  const Result<Problem> without =
      make_problem(family, {.dims = {{"COLS", 4}}, .flags = {}, .has = {}, .scalars = {}}, DType::kF32);
  const Result<Problem> with =
      make_problem(family, {.dims = {{"COLS", 4}}, .flags = {}, .has = {"bias"}, .scalars = {}}, DType::kF32);
  ASSERT_TRUE(without && with);
  EXPECT_EQ(family.outputs(*without).size(), 1U);
  EXPECT_EQ(family.inputs(*without).size(), 2U);
  EXPECT_EQ(family.outputs(*with).size(), 2U);
  EXPECT_EQ(family.inputs(*with).size(), 3U);
}

TEST(Family, TheHashChangesWithTheReference) {
  const EmbeddedFile other[] = {{"op.toml", testing::kSample}, {"reference.cu", "// another\n"}};
  EXPECT_NE(load_family("scale_rows", other)->hash, sample().hash);
}

TEST(Family, StartersComeFirstAmongItsKernels) {
  const EmbeddedFile files[] = {{"scale_rows/op.toml", testing::kSample},
                                {"scale_rows/reference.cu", "//"},
                                {"scale_rows/kernels/block.cu", "b"},
                                {"scale_rows/kernels/starter.cu", "s"},
                                {"scale_rows/kernels/notes.txt", "n"}};
  const Result<Family> family = load_family("scale_rows", files);
  ASSERT_TRUE(family);
  ASSERT_EQ(family->kernels.size(), 2U);
  EXPECT_EQ(family->kernels[0].name, "scale_rows/kernels/starter.cu");
  EXPECT_EQ(family->kernels[1].text, "b");
}

TEST(Family, AScalarsDefaultMayBeOneOverARoot) {
  const Result<Family> family = load_text(changed("default = 2\n", "default_rsqrt = \"COLS\"\n"));
  ASSERT_TRUE(family) << family.error().message;
  const Result<Problem> problem =
      make_problem(*family, {.dims = {{"COLS", 16}}, .flags = {}, .has = {}, .scalars = {}}, DType::kF32);
  EXPECT_EQ(problem->scalars.at("factor"), 0.25);
}

TEST(FamilyError, ARootOfNothingIsNoDefault) {
  EXPECT_THAT(error_with("default = 2\n", "default_rsqrt = \"COLS - 1\"\n"),
              HasSubstr("1 / sqrt of `COLS - 1`, which is 0: give factor=VALUE"));
}

TEST(FamilyError, AScalarHasOneDefault) {
  EXPECT_THAT(error_with("default = 2\n", "default = 2\ndefault_rsqrt = \"COLS\"\n"),
              HasSubstr("expected `default` or `default_rsqrt`, not both"));
  EXPECT_THAT(error_with("default = -100", "default_rsqrt = \"COLS\""), HasSubstr("only a float scalar"));
  EXPECT_THAT(error_with("default = 2\n", "default_rsqrt = \"COLUMNS\"\n"),
              HasSubstr("unknown name `COLUMNS`"));
}

TEST(FamilyError, AMissingReferenceIsNamed) {
  const EmbeddedFile files[] = {{"op.toml", testing::kSample}};
  EXPECT_THAT(message_of(load_family("scale_rows", files)), HasSubstr("scale_rows/reference.cu is missing"));
}

TEST(FamilyError, AnUnknownNameInAnExpressionIsPointedAt) {
  const std::string message = error_with("elem_bytes * 2 * ROWS * COLS", "elem_bytes * 2 * ROWS * COLUMNS");
  EXPECT_THAT(message, HasSubstr("scale_rows/op.toml:48:34: unknown name `COLUMNS`"));
  EXPECT_THAT(message, HasSubstr("known here: COLS"));
}

TEST(FamilyError, ASyntaxErrorInAnExpressionIsPointedAt) {
  EXPECT_THAT(error_with("ROWS / GROUP\"", "ROWS / \""), HasSubstr("op.toml:10:13: "));
}

TEST(FamilyError, AnUnknownKeyListsTheKnownOnes) {
  EXPECT_THAT(error_with("optional = true", "optinal = true"),
              ::testing::AllOf(HasSubstr("unknown key `optinal`"), HasSubstr("optional")));
}

TEST(FamilyError, TheNameMustBeTheFolders) {
  EXPECT_THAT(message_of(load_text(testing::kSample, "other")), HasSubstr("is not the folder's, `other`"));
}

TEST(FamilyError, AnotherSchemaIsRefused) {
  EXPECT_THAT(error_with("schema = 1", "schema = 2"), HasSubstr("op.toml:1:10: schema 2 is not known"));
}

TEST(FamilyError, AFlagOfOneLetterIsNoMacro) {
  EXPECT_THAT(error_with("name = \"MODE\"", "name = \"T\""), HasSubstr("two letters or more"));
}

TEST(FamilyError, ANameIsTakenOnce) {
  EXPECT_THAT(error_with("name = \"MODE\"", "name = \"COLS\""), HasSubstr("the name `COLS` is taken"));
}

TEST(FamilyError, AnInputWithoutADistributionIsNamed) {
  EXPECT_THAT(error_with("tensors.bias = { kind = \"uniform\", low = -1, high = 1 }\n", ""),
              HasSubstr("the input `bias` has no distribution here"));
}

TEST(FamilyError, AnUnknownDistributionListsTheClosedSet) {
  EXPECT_THAT(error_with("kind = \"normal\"", "kind = \"cauchy\""),
              HasSubstr("known: normal, offset, uniform, heavy_tail"));
}

TEST(FamilyError, AParameterOfAnotherDistributionIsRefused) {
  EXPECT_THAT(error_with("stddev = 2", "density = 2"), HasSubstr("`density` is no parameter of normal"));
}

TEST(FamilyError, IntegersAreForIntegerTensors) {
  EXPECT_THAT(error_with("{ kind = \"normal\", stddev = 2 }", "{ kind = \"integers\" }"),
              HasSubstr("`integers` is for integer tensors"));
}

TEST(FamilyError, ASizeThatViolatesTheFamilyIsPointedAt) {
  const std::string message = error_with("GROUP = 4", "GROUP = 3");
  EXPECT_THAT(message, HasSubstr("scale_rows/op.toml:59:10: "));
  EXPECT_THAT(message, HasSubstr("violates `ROWS % GROUP == 0`"));
}

TEST(FamilyError, EverySizeSetIsNeeded) {
  EXPECT_THAT(error_with("edge = [{ ROWS = 1, COLS = 1 }]\n", ""),
              HasSubstr("the size set `edge` is missing or empty"));
}

TEST(FamilyError, EveryOutputNeedsItsRowLength) {
  EXPECT_THAT(error_with("sum = \"ROWS\"\n", ""), HasSubstr("the output `sum` is missing here"));
}

TEST(FamilyError, AnOutputCannotComeWithARequiredInput) {
  EXPECT_THAT(error_with("with = \"bias\"", "with = \"x\""), HasSubstr("`x` is no optional input"));
}

TEST(FamilyError, StridedTensorsAreNotSupportedYet) {
  EXPECT_THAT(error_with("shape = [\"COLS\"]", "shape = [\"COLS\"]\nstrided = true"),
              HasSubstr("not supported yet"));
}

TEST(FamilyError, AMatchBindsKnownTensorsToItsArguments) {
  EXPECT_THAT(error_with("{ x = \"self\", ", "{ x = \"input\", "), HasSubstr("`input` is not among `args`"));
  EXPECT_THAT(error_with("{ x = \"self\", ", "{ z = \"self\", "), HasSubstr("`z` is no tensor"));
}

TEST(FamilyError, AMatchNamesArgumentsThatMustBeAbsentAndInputsReadByHalf) {
  const auto with = [](const std::string& line) {
    return message_of(load_text(changed("results = [\"y\"]\n", "results = [\"y\"]\n" + line + "\n")));
  };
  EXPECT_EQ(with("absent = [\"index\"]\nhalves = [\"x\"]"), "(no error)");
  EXPECT_THAT(with("absent = [\"weight\"]"), HasSubstr("`weight` is no argument"));
  EXPECT_THAT(with("halves = [\"y\"]"), HasSubstr("`y` is no input"));
  EXPECT_THAT(
      error_with(
          "aten = \"aten::scale_rows\"\nargs = [\"self\", \"index\"]\ntensors = { x = \"self\", index = "
          "\"index\" }\nresults",
          "sequence = [\"y = aten::mul(x, 2)\"]\nabsent"),
      HasSubstr("only arguments of `aten` can be absent"));
}

TEST(FamilyError, AMatchIsAnOpOrASequence) {
  EXPECT_THAT(
      error_with("aten = \"aten::scale_rows\"", "sequence = [\"y = aten::mul(x, 2)\"]\naten = \"aten::a\""),
      HasSubstr("either `aten` with `args`, or `sequence`"));
}

TEST(FamilyError, ATensorOfRankZeroIsRefused) {
  EXPECT_THAT(error_with("shape = [\"COLS\"]", "shape = []"), HasSubstr("a tensor has 1 to 8 dims"));
}

TEST(FamilyError, MalformedTomlSaysWhere) {
  EXPECT_THAT(error_with("[derived]", "[derived"), HasSubstr("scale_rows/op.toml:9:"));
}

}  // namespace
}  // namespace ak::op
