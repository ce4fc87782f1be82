#include "autokernel/base/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ak {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kText = R"toml(op = "rmsnorm"
dtypes = ["f32", "bf16"]
[tunables]
VEC     = [1, 2, 4]
THREADS = [64, 128]
"odd/~name" = [1]
[[launch]]
entry = "first"
grid = ["M"]
[[launch]]
grid = ["ceil_div(M, )"]
[a.b]
c.z = 1
c.y = 2
)toml";

TomlDocument parsed(std::string_view text, TextOrigin origin = {.name = "k.cu"}) {
  auto result = parse_toml(text, std::move(origin));
  EXPECT_TRUE(result.has_value()) << result.error().message;
  return *result;
}

std::string parse_message(std::string_view text, TextOrigin origin = {.name = "k.cu"}) {
  const auto result = parse_toml(text, std::move(origin));
  EXPECT_FALSE(result.has_value()) << text;
  return result ? "" : result.error().message;
}

void expect_position(const TomlDocument& document, std::string_view pointer, int line, int column) {
  const TextPosition position = document.position(pointer);
  EXPECT_EQ(position.line, line) << pointer;
  EXPECT_EQ(position.column, column) << pointer;
}

TEST(Toml, ADocumentBecomesJson) {
  EXPECT_EQ(parsed(kText).root(), Json::parse(R"json({"op": "rmsnorm", "dtypes": ["f32", "bf16"],
      "tunables": {"VEC": [1, 2, 4], "THREADS": [64, 128], "odd/~name": [1]},
      "launch": [{"entry": "first", "grid": ["M"]}, {"grid": ["ceil_div(M, )"]}], "a": {
  "b" : { "c" : {"z" : 1, "y" : 2} }
}
})json"));
}

TEST(Toml, EveryScalarTypeHasAnImage) {
  EXPECT_EQ(parsed("i = -3\nf = 1.5\nb = false\nn = inf\ns = '''x\ny'''\nd = 2026-11-30\n").root(),
            Json::parse(R"({"i": -3, "f": 1.5, "b": false, "n": "inf", "s": "x\ny", "d": "2026-11-30"})"));
}

TEST(Toml, AnEmptyDocumentIsAnEmptyObject) { EXPECT_EQ(parsed("").root(), Json::object()); }

TEST(Toml, KeysComeInTheOrderInWhichTheyWereWritten) {
  const TomlDocument document = parsed(kText);
  EXPECT_THAT(document.keys_in_order(""), ElementsAre("op", "dtypes", "tunables", "launch", "a"));
  EXPECT_THAT(document.keys_in_order("/tunables"), ElementsAre("VEC", "THREADS", "odd/~name"));
  EXPECT_THAT(document.keys_in_order("/a/b/c"), ElementsAre("z", "y"));
  EXPECT_THAT(document.keys_in_order("/launch/0"), ElementsAre("entry", "grid"));
  EXPECT_THAT(document.keys_in_order("/op"), IsEmpty());
  EXPECT_THAT(parsed("t = {z = 1, y = 2, x = 3}").keys_in_order("/t"), ElementsAre("z", "y", "x"));
}

TEST(Toml, ValuesHavePositions) {
  const TomlDocument document = parsed(kText);
  expect_position(document, "/op", 1, 6);
  expect_position(document, "/dtypes/1", 2, 18);
  expect_position(document, "/tunables/VEC", 4, 11);
  expect_position(document, "/tunables/odd~1~0name/0", 6, 16);
  expect_position(document, "/launch/1/grid/0", 11, 9);
  expect_position(document, "/a/b/c/y", 14, 7);
}

TEST(Toml, WhatIsMissingHasThePositionOfItsNearestParent) {
  const TomlDocument document = parsed(kText);
  expect_position(document, "/launch/1/block", 10, 1);
  expect_position(document, "/launch/1/block/x/y", 10, 1);
  expect_position(document, "/nothing", 1, 1);
  expect_position(document, "", 1, 1);
}

TEST(Toml, LinesCountFromTheFirstLineOfTheFile) {
  const TomlDocument document = parsed(kText, {.name = "k.cu", .first_line = 3});
  expect_position(document, "/dtypes", 4, 10);
  expect_position(document, "", 3, 1);
}

TEST(Toml, AnErrorShowsTheLineACaretAndAHint) {
  const auto error = parsed(kText, {.name = "softmax.cu", .first_line = 3})
                         .error_at("/launch/0/grid", "expected 1 to 3 expressions", "e.g. grid = [\"M\"]");
  EXPECT_EQ(error.value().message,
            "softmax.cu:11:8: expected 1 to 3 expressions\n"
            "  grid = [\"M\"]\n"
            "         ^\n"
            "  hint: e.g. grid = [\"M\"]");
  EXPECT_EQ(error.value().code, ErrorCode::kUsage);
}

TEST(Toml, AnErrorCanPointIntoAString) {
  // Column 13 of the expression, where an operand is missing.
  EXPECT_EQ(parsed(kText).error_at("/launch/1/grid/0", "expected a number", "", 13).value().message,
            "k.cu:11:22: expected a number\n"
            "  grid = [\"ceil_div(M, )\"]\n"
            "                       ^");
}

TEST(Toml, ASyntaxErrorCarriesItsPlace) {
  EXPECT_THAT(parse_message("a = 1\nb = [1, 2\n", {.name = "k.cu", .first_line = 10}),
              StartsWith("k.cu:11:11: "));
  const std::string message = parse_message("a = 1\nbad line\n");
  EXPECT_THAT(message, StartsWith("k.cu:2:"));
  EXPECT_THAT(message, HasSubstr("\n  bad line\n"));
}

TEST(Toml, DuplicateKeysAreErrors) { EXPECT_THAT(parse_message("a = 1\na = 2\n"), StartsWith("k.cu:2:")); }

TEST(Toml, ATableHeaderWithoutAKeyIsAnErrorAndNoCrash) {
  EXPECT_THAT(parse_message("a = 1\n[=]\n"), StartsWith("k.cu:2:2: "));
  EXPECT_THAT(parse_message("[\x01]"), StartsWith("k.cu:1:"));
  EXPECT_THAT(parse_message("[[.a]]"), StartsWith("k.cu:1:3: "));
}

TEST(Toml, LettersBeyondAsciiInABareKeyAreAnErrorWithItsPlace) {
  EXPECT_THAT(parse_message("a\xd1\x9e = 1\n"), StartsWith("k.cu:1:2: "));
  EXPECT_THAT(parse_message("gr\xc3\xb6\xc3\x9f"
                            "e = 1\n"),
              StartsWith("k.cu:1:3: "));
  EXPECT_EQ(parsed("a = \"gr\xc3\xb6\xc3\x9f"
                   "e\"\n")
                .root()
                .at("a"),
            "gr\xc3\xb6\xc3\x9f"
            "e");
}

TEST(Toml, InvalidUtf8IsAnErrorThatIsItselfValidUtf8) {
  const std::string message = parse_message("a = \"\xff\"\n");
  EXPECT_NO_THROW(Json(message).dump()) << message;
}

TEST(Toml, DeepNestingIsAnErrorAndNotACrash) {
  EXPECT_FALSE(parse_toml("a = " + std::string(100'000, '['), {.name = "k.cu"}).has_value());
  std::string key = "a";
  for (int i = 0; i < 100'000; ++i) key += ".a";
  EXPECT_THAT(parse_message("x = 1\n" + key + " = 1\n"), StartsWith("k.cu:2:1: a key of more than 64 parts"));
  EXPECT_THAT(parse_message("[" + key + "]\n"), HasSubstr("a key of more than 64 parts"));
}

TEST(Toml, ManyFractionsOrDotsInStringsAreNoDeepKey) {
  std::string floats = "a = [";
  for (int i = 0; i < 100; ++i) floats += "1.5, ";
  std::string text = "b = \"";
  for (int i = 0; i < 100; ++i) text += "word. ";
  EXPECT_TRUE(parse_toml(floats + "]\n" + text + "\"\n", {.name = "k.cu"}).has_value());
}

TEST(FormatDiagnostic, ATabIsOneColumnAndTheCaretFits) {
  EXPECT_EQ(format_diagnostic({.name = "f"}, "\tab\n", {1, 2}, "m", ""),
            "f:1:2: m\n"
            "   ab\n"
            "   ^");
}

TEST(FormatDiagnostic, ColumnsAreCharacters) {
  EXPECT_EQ(format_diagnostic({.name = "f"}, "\xc3\xa4\xc3\xb6x", {1, 3}, "m", ""),
            "f:1:3: m\n"
            "  \xc3\xa4\xc3\xb6x\n"
            "    ^");
}

TEST(FormatDiagnostic, BytesThatAreNoTextBecomeQuestionMarks) {
  const std::string message =
      format_diagnostic({.name = "f"}, "a\xff\xc0\x80\xed\xa0\x80\x01z", {1, 1}, "m", "");
  EXPECT_THAT(message, HasSubstr("  a???????z\n"));
}

TEST(FormatDiagnostic, ALongLineIsCutAroundTheCaret) {
  const std::string line = std::string(500, 'a') + "X" + std::string(500, 'b');
  const std::string message = format_diagnostic({.name = "f"}, line, {1, 501}, "m", "");
  const std::size_t x = message.find('X'), caret = message.find('^');
  EXPECT_LT(message.size(), 250u);
  EXPECT_EQ(x - message.rfind('\n', x), caret - message.rfind('\n', caret));
}

TEST(FormatDiagnostic, APlaceBeyondTheTextShowsNoLine) {
  EXPECT_EQ(format_diagnostic({.name = "f"}, "a\n", {9, 4}, "m", ""), "f:9:4: m\n  \n  ^");
}

}  // namespace
}  // namespace ak
