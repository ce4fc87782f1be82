// check_against: names that the op family does not have are errors at their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string with_launch(std::string_view extra, std::string_view grid, std::string_view args) {
  return file_text("dtypes = [\"f32\"]\n" + std::string(extra) + "[[launch]]\nentry = \"f\"\ngrid = [" +
                   std::string(grid) + "]\nblock = [1]\nargs = [" + std::string(args) + "]\n");
}

std::string complaint(const std::string& text) {
  const Status status = check_against(parsed(text), signature());
  return status ? "" : status.error().message;
}

constexpr std::string_view kVec =
    "[tunables]\nVEC = [1, 2]\nKIND = [\"a\"]\n[defaults]\nVEC = 1\nKIND = \"a\"\n";

TEST(CheckAgainst, AcceptsEveryNameOfTheFamilyAndTheFile) {
  EXPECT_EQ(
      complaint(with_launch(
          std::string(kVec) + "[[workspace]]\nname = \"ws\"\nbytes = \"N * elem_bytes\"\n",
          "\"M * CAUSAL + HAS_RESIDUAL + VEC\"",
          "\"x\", \"weight\", \"y\", \"N\", \"CAUSAL\", \"eps\", \"IGNORE\", \"ws\", \"VEC\", \"N + VEC\"")),
      "");
}

TEST(CheckAgainst, AMisspelledTunableIsShownWithTheRightOne) {
  EXPECT_EQ(complaint(with_launch(kVec, "\"ceil_div(N, VCE)\"", "")),
            "test.cu:11:22: unknown name 'VCE'\n  grid = [\"ceil_div(N, VCE)\"]\n                       ^\n"
            "  hint: did you mean VEC?");
}

TEST(CheckAgainst, AMisspelledTensorIsShownWithTheRightOne) {
  EXPECT_THAT(complaint(with_launch("", "1", "\"x\", \"wieght\"")),
              AllOf(StartsWith("test.cu:7:15: unknown name 'wieght'"), HasSubstr("did you mean weight?")));
}

TEST(CheckAgainst, FloatsAndTensorsHaveNoPlaceInExpressions) {
  EXPECT_THAT(complaint(with_launch("", "\"N * eps\"", "")),
              HasSubstr("'eps' is a float: expressions are over integers"));
  EXPECT_THAT(complaint(with_launch("", "1", "\"x + 1\"")), HasSubstr("'x' is a tensor"));
  EXPECT_THAT(complaint(with_launch("", "\"IGNORE\"", "")), HasSubstr("'IGNORE' is a scalar of the op"));
}

TEST(CheckAgainst, StringTunablesAreNoArguments) {
  EXPECT_THAT(complaint(with_launch(kVec, "1", "\"KIND\"")), HasSubstr("no argument can hold it"));
  EXPECT_THAT(complaint(with_launch(kVec, "1", "\"KIND + 1\"")), HasSubstr("'KIND' is a string tunable"));
}

TEST(CheckAgainst, AnArgumentThatIsNoExpressionPointsIntoIt) {
  EXPECT_THAT(complaint(with_launch("", "1", "\"N +\"")), StartsWith("test.cu:7:13: expected a number"));
}

TEST(CheckAgainst, OptionalTensorsOfOtherFamiliesAreUnknown) {
  EXPECT_THAT(complaint(with_launch("", "\"1 + HAS_BIAS\"", "")), HasSubstr("unknown name 'HAS_BIAS'"));
}

TEST(CheckAgainst, NamesOfTheOpCannotBeTakenByTunablesWorkspacesOrMaps) {
  EXPECT_THAT(complaint(with_launch("[tunables]\nCAUSAL = [0]\n[defaults]\nCAUSAL = 0\n", "1", "")),
              HasSubstr("'CAUSAL' is an integer of the op already"));
  EXPECT_THAT(complaint(with_launch("[[workspace]]\nname = \"y\"\nbytes = 1\n", "1", "")),
              AllOf(StartsWith("test.cu:4:8:"), HasSubstr("'y' is a tensor of the op already")));
}

TEST(CheckAgainst, SpecialisedDimsAndMappedTensorsMustExist) {
  EXPECT_THAT(complaint(with_launch("specialize = [\"M\", \"K\"]\n", "1", "")),
              StartsWith("test.cu:3:20: the op has no dim 'K'"));
  EXPECT_THAT(
      complaint(with_launch("[[tensormap]]\nname = \"map\"\ntensor = \"z\"\nbox = [1]\n", "1", "\"map\"")),
      StartsWith("test.cu:5:10: the op has no tensor 'z'"));
}

}  // namespace
}  // namespace ak::kernel
