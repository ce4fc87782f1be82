// Every mistake in a front matter is an error with file, line, column, the line, a caret and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(KernelFileErrors, LookLikeACompilersWithACaretAndAHint) {
  EXPECT_EQ(
      error_of(plain_text("[tunables]\nVEC = [1, 2]\n[constraints]\nwhere = [\"VEC <= 4\", \"VEC + * 2\"]\n"
                          "[defaults]\nVEC = 1\n")),
      "test.cu:6:29: expected a number, a name or '(', found '*'\n"
      "  where = [\"VEC <= 4\", \"VEC + * 2\"]\n"
      "                              ^\n"
      "  hint: expressions are over tunables, dims and flags, with + - * / % min max ceil_div && || ! == < "
      "?:");
}

TEST(KernelFileErrors, UnknownKeysPointAtTheKeyAndNameTheNearest) {
  EXPECT_EQ(error_of(plain_text("abuot = \"x\"\n")),
            "test.cu:3:1: unknown key 'abuot'\n  abuot = \"x\"\n  ^\n  hint: did you mean about?");
  EXPECT_THAT(error_of(plain_text("[tunabels]\nVEC = [1]\n")),
              AllOf(StartsWith("test.cu:3:2: unknown key 'tunabels'"), HasSubstr("did you mean tunables?")));
  EXPECT_THAT(error_of(plain_text("[constraints]\nwere = []\n")), HasSubstr("did you mean where?"));
  EXPECT_THAT(error_of(file_text(
                  "dtypes = [\"f32\"]\n[[launch]]\nentry = \"f\"\ngird = [1]\nblock = [1]\nargs = []\n")),
              AllOf(StartsWith("test.cu:5:1: unknown key 'gird'"), HasSubstr("did you mean grid?")));
}

TEST(KernelFileErrors, AnUnknownKeyThatIsNearNothingListsTheKeys) {
  EXPECT_THAT(error_of(plain_text("[constraints]\ncolour = 1\n")), HasSubstr("expected one of where, needs"));
}

TEST(KernelFileErrors, BrokenTomlIsShownAtItsLineOfTheFile) {
  EXPECT_THAT(error_of("// licence\n\n/* autokernel\ndtypes = [\"f32\"\nop = 3\n*/\n"),
              StartsWith("test.cu:5:"));
}

TEST(KernelFileErrors, AFileWithoutFrontMatterIsToldWhatToWrite) {
  EXPECT_THAT(error_of("__global__ void f() {}\n"),
              AllOf(StartsWith("test.cu:1:1: no front matter"), HasSubstr("[[launch]]")));
  EXPECT_THAT(error_of(""), HasSubstr("no front matter"));
}

TEST(KernelFileErrors, ACommentThatDoesNotEndIsShownWhereItBegins) {
  EXPECT_THAT(error_of("int a;\n /* autokernel\ndtypes = [\"f32\"]\n"),
              AllOf(StartsWith("test.cu:2:2:"), HasSubstr("close it with */")));
}

TEST(KernelFileErrors, TextBehindTheOpeningWordIsRefused) {
  EXPECT_THAT(error_of("/* autokernel op = \"x\"\n*/"), StartsWith("test.cu:1:15: unexpected text"));
}

TEST(KernelFileErrors, BytesThatAreNoTextAreShownWithTheirPlace) {
  EXPECT_THAT(error_of(plain_text("") + "// \xff\n"), HasSubstr(": not valid UTF-8"));
  EXPECT_THAT(error_of(std::string("a\0b", 3)), StartsWith("test.cu:1:2: a NUL byte"));
  EXPECT_THAT(error_of("\xed\xa0\x80"), StartsWith("test.cu:1:1: not valid UTF-8"));
  EXPECT_THAT(error_of("\xc3"), StartsWith("test.cu:1:1: not valid UTF-8"));
}

struct Mistake {
  const char* what;
  const char* toml;
  const char* expected;
};

class PlainMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(PlainMistakes, AreErrorsThatSayWhatIsWrong) {
  const std::string error = error_of(plain_text(GetParam().toml));
  EXPECT_THAT(error, HasSubstr(GetParam().expected));
  EXPECT_THAT(error, StartsWith("test.cu:"));
  EXPECT_THAT(error, HasSubstr("^"));
}

INSTANTIATE_TEST_SUITE_P(
    FrontMatter, PlainMistakes,
    ::testing::Values(
        Mistake{"OpIsANumber", "op = 3\n", "expected a string"},
        Mistake{"OpIsNoName", "op = \"soft max\"\n", "the name of an op family"},
        Mistake{"TemplateIsText", "template = \"yes\"\n", "expected true or false"},
        Mistake{"ArchIsEmpty", "arch = []\n", "at least one architecture"},
        Mistake{"SpecializeIsNoName", "specialize = [\"N + 1\"]\n", "no dim's name"},
        Mistake{"OneLetter", "[tunables]\nV = [1]\n", "two letters or more"},
        Mistake{"LowerCase", "[tunables]\nvec = [1]\n", "in capitals"},
        Mistake{"Reserved", "[tunables]\nHAS_X = [1]\n", "means something else"},
        Mistake{"NoName", "[tunables]\n\"A B\" = [1]\n", "is no name"},
        Mistake{"NoList", "[tunables]\nVEC = 4\n", "expected the list of values that VEC may take"},
        Mistake{"EmptyList", "[tunables]\nVEC = []\n", "e.g. VEC = [1, 2, 4]"},
        Mistake{"Fraction", "[tunables]\nVEC = [0.5]\n", "no fractions"},
        Mistake{"Mixed", "[tunables]\nVEC = [1, true]\n", "two types: integer and boolean"},
        Mistake{"Twice", "[tunables]\nVEC = [1, 2, 1]\n", "1 is listed twice"},
        Mistake{"Backslash", "[tunables]\nTEXT = ['a\\']\n", "printable ASCII"},
        Mistake{"CommentInValue", "[tunables]\nTEXT = [\"a //\"]\n", "printable ASCII"},
        Mistake{"NoDefaults", "[tunables]\nVEC = [1]\n", "add [defaults] with VEC = 1"},
        Mistake{"OneDefaultMissing", "[tunables]\nVEC = [1]\nTILE = [8]\n[defaults]\nVEC = 1\n",
                "add TILE = 8"},
        Mistake{"DefaultOfNothing", "[tunables]\nVEC = [1]\n[defaults]\nVEC = 1\nVCE = 1\n",
                "did you mean VEC?"},
        Mistake{"DefaultNotAValue", "[tunables]\nVEC = [1, 2]\n[defaults]\nVEC = 3\n", "one of 1, 2"},
        Mistake{"DefaultOfAnotherType", "[tunables]\nVEC = [1, 2]\n[defaults]\nVEC = true\n", "one of 1, 2"},
        Mistake{"WhereIsText", "[constraints]\nwhere = \"1\"\n", "a list of expressions"},
        Mistake{"WhereHoldsATruth", "[constraints]\nwhere = [true]\n",
                "an integer or an expression in quotes"},
        Mistake{"ConstraintsIsNoTable", "constraints = 3\n", "expected a table"},
        Mistake{
            "StringInExpression",
            "[tunables]\nKIND = [\"a\"]\n[constraints]\nwhere = [\"KIND == 1\"]\n[defaults]\nKIND = \"a\"\n",
            "KIND is a string tunable and has no place in an expression"},
        Mistake{"WorkspaceTable", "[workspace]\nname = \"a\"\nbytes = 1\n",
                "write [[workspace]], with two brackets"},
        Mistake{"WorkspaceTwice",
                "[[workspace]]\nname = \"a\"\nbytes = 1\n[[workspace]]\nname = \"a\"\nbytes = 1\n",
                "the name 'a' is taken"},
        Mistake{"WorkspaceWithoutBytes", "[[workspace]]\nname = \"a\"\n", "'bytes' is missing"},
        Mistake{"Swizzle", "[[tensormap]]\nname = \"a\"\ntensor = \"x\"\nbox = [1]\nswizzle = 48\n",
                "0, 32, 64 or 128"},
        Mistake{"BoxTooLong", "[[tensormap]]\nname = \"a\"\ntensor = \"x\"\nbox = [1, 1, 1, 1, 1, 1]\n",
                "1 to 5 sizes"}),
    [](const auto& spec) { return spec.param.what; });

class LaunchMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(LaunchMistakes, AreErrorsThatSayWhatIsWrong) {
  const std::string error = error_of(file_text("dtypes = [\"f32\"]\n" + std::string(GetParam().toml)));
  EXPECT_THAT(error, HasSubstr(GetParam().expected));
  EXPECT_THAT(error, StartsWith("test.cu:"));
}

INSTANTIATE_TEST_SUITE_P(
    FrontMatter, LaunchMistakes,
    ::testing::Values(
        Mistake{"NoLaunch", "", "'launch' is missing"},
        Mistake{"SingleBrackets", "[launch]\nentry = \"f\"\n", "write [[launch]], with two brackets"},
        Mistake{"NoEntry", "[[launch]]\ngrid = [1]\nblock = [1]\nargs = []\n", "'entry' is missing"},
        Mistake{"UnknownEntry", "[[launch]]\nentry = \"ff\"\ngrid = [1]\nblock = [1]\nargs = []\n",
                "the code has no kernel 'ff'"},
        Mistake{"NoGrid", "[[launch]]\nentry = \"f\"\nblock = [1]\nargs = []\n", "'grid' is missing"},
        Mistake{"FourAxes", "[[launch]]\nentry = \"f\"\ngrid = [1, 1, 1, 1]\nblock = [1]\nargs = []\n",
                "1 to 3 expressions"},
        Mistake{"EmptyBlock", "[[launch]]\nentry = \"f\"\ngrid = [1]\nblock = []\nargs = []\n",
                "1 to 3 expressions"},
        Mistake{"FirstLaunchWithACondition",
                "[[launch]]\nentry = \"f\"\nwhen = \"N > 1\"\ngrid = [1]\nblock = [1]\nargs = []\n",
                "the first launch always runs"},
        Mistake{"NoArgs", "[[launch]]\nentry = \"f\"\ngrid = [1]\nblock = [1]\n", "'args' is missing"},
        Mistake{"EmptyArg", "[[launch]]\nentry = \"f\"\ngrid = [1]\nblock = [1]\nargs = [\"\"]\n",
                "expected a tensor, dim, flag"},
        Mistake{"ArgIsAFraction", "[[launch]]\nentry = \"f\"\ngrid = [1]\nblock = [1]\nargs = [1.5]\n",
                "expected a tensor, dim, flag"}),
    [](const auto& spec) { return spec.param.what; });

TEST(KernelFileErrors, DtypesMustBeGivenKnownAndDistinct) {
  EXPECT_THAT(error_of(file_text("op = \"x\"\n")), HasSubstr("'dtypes' is missing"));
  EXPECT_THAT(error_of(file_text("dtypes = []\n")), HasSubstr("at least one dtype"));
  EXPECT_THAT(error_of(file_text("dtypes = [\"fp16\"]\n")), HasSubstr("did you mean f16?"));
  EXPECT_THAT(error_of(file_text("dtypes = [\"f32\", \"f32\"]\n")),
              StartsWith("test.cu:2:18: 'f32' is listed twice"));
}

TEST(KernelFileErrors, TheKernelThatWasMeantIsNamed) {
  const std::string text =
      "/* autokernel\ndtypes = [\"f32\"]\n[[launch]]\nentry = \"sofmax\"\ngrid = [1]\nblock = [1]\nargs = "
      "[]\n*/\n"
      "extern \"C\" __global__ void __launch_bounds__(256, 2) softmax(float* y) {}\n";
  EXPECT_THAT(error_of(text), AllOf(StartsWith("test.cu:4:9: the code has no kernel 'sofmax'"),
                                    HasSubstr("did you mean softmax?")));
}

TEST(KernelFileErrors, AnExpressionOfSeveralLinesPointsIntoItsOwnLine) {
  EXPECT_THAT(error_of(plain_text("[constraints]\nwhere = [\"\"\"1 +\n  2 + $\"\"\"]\n")),
              StartsWith("test.cu:5:7: expected a number"));
}

TEST(KernelFileErrors, TooManyValuesAndTunablesAreRefused) {
  std::string values, tunables;
  for (int i = 0; i < 65536; ++i) values += std::to_string(i) + ",";
  EXPECT_THAT(error_of(plain_text("[tunables]\nVEC = [" + values + "]\n")), HasSubstr("at most 65535"));
  for (int i = 0; i < 65; ++i) tunables += "T" + std::to_string(i) + " = [1]\n";
  EXPECT_THAT(error_of(plain_text("[tunables]\n" + tunables)), HasSubstr("at most 64"));
}

}  // namespace
}  // namespace ak::kernel
