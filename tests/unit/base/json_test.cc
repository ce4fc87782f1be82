#include "autokernel/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace ak {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string parse_message(std::string_view text) {
  const auto result = parse_json(text, "plan.json");
  EXPECT_FALSE(result.has_value()) << text;
  return result ? "" : result.error().message;
}

TEST(JsonNumbers, AnswersHaveNullWhereThereIsNoNumber) {
  EXPECT_EQ(json_finite(1.5), Json(1.5));
  EXPECT_TRUE(json_finite(std::numeric_limits<double>::infinity()).is_null());
  EXPECT_TRUE(json_finite(std::numeric_limits<double>::quiet_NaN()).is_null());
}

TEST(ParseJson, AnErrorCarriesNameLineAndColumn) {
  EXPECT_THAT(parse_message("{\n  \"a\": 1,\n  oops\n}"), StartsWith("plan.json:3:3: not valid JSON"));
  EXPECT_THAT(parse_message(""), StartsWith("plan.json:1:1: not valid JSON"));
  EXPECT_THAT(parse_message("{\"a\": 1"), StartsWith("plan.json:1:"));
}

TEST(ParseJson, InvalidUtf8AndTrailingTextAreErrors) {
  EXPECT_THAT(parse_message("\"\xff\""), HasSubstr("not valid JSON"));
  EXPECT_THAT(parse_message("1 2"), HasSubstr("not valid JSON"));
  EXPECT_THAT(parse_message("1e999"), HasSubstr("not valid JSON"));
}

TEST(ParseJson, NestingIsLimitedSoThatNoMessageExhaustsTheStack) {
  EXPECT_TRUE(parse_json(std::string(256, '[') + std::string(256, ']'), "x").has_value());
  EXPECT_THAT(parse_message(std::string(1'000'000, '[')),
              HasSubstr("plan.json:1:257: nested deeper than 256"));
}

TEST(ParseJson, BracketsInStringsAreNoNesting) {
  EXPECT_TRUE(parse_json("\"\\\"" + std::string(1000, '[') + "\"", "x").has_value());
}

class Reader : public testing::Test {
 protected:
  Json json_ = Json::parse(R"({"s": "text", "i": -5, "big": 18446744073709551615, "d": 1.5, "b": true,
                               "a": [1], "o": {}, "inf": "inf", "ninf": "-inf", "nan": "nan", "null": null})");
  JsonReader reader_ = *JsonReader::object(json_, "trial");
};

TEST_F(Reader, ReadsEachType) {
  EXPECT_EQ(*reader_.get_string("s"), "text");
  EXPECT_EQ(*reader_.get_int("i"), -5);
  EXPECT_EQ(*reader_.get_double("d"), 1.5);
  EXPECT_EQ(*reader_.get_double("i"), -5.0);
  EXPECT_EQ(*reader_.get_bool("b"), true);
  EXPECT_EQ((*reader_.get_array("a"))->size(), 1u);
  EXPECT_TRUE((*reader_.get_object("o"))->empty());
  EXPECT_TRUE((*reader_.get("null"))->is_null());
}

TEST_F(Reader, ReadsNonFiniteNumbersFromStrings) {
  EXPECT_EQ(*reader_.get_double("inf"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(*reader_.get_double("ninf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*reader_.get_double("nan")));
  EXPECT_FALSE(reader_.get_double("s").has_value());
}

TEST_F(Reader, AMismatchNamesTheFieldWhatWasExpectedAndWhatWasFound) {
  EXPECT_EQ(reader_.get_int("s").error().message, "trial.s: expected an integer, found \"text\"");
  EXPECT_EQ(reader_.get_int("d").error().message, "trial.d: expected an integer, found 1.5");
  EXPECT_EQ(reader_.get_string("gone").error().message, "trial.gone: expected a string, found nothing");
  EXPECT_EQ(reader_.get_bool("i").error().message, "trial.i: expected true or false, found -5");
  EXPECT_EQ(reader_.get_array("o").error().message, "trial.o: expected an array, found {}");
  EXPECT_EQ(reader_.get_object("a").error().message, "trial.a: expected an object, found [1]");
}

TEST_F(Reader, AnIntegerBeyond63BitsIsAnError) {
  EXPECT_THAT(reader_.get_int("big").error().message, HasSubstr("below 2^63"));
}

TEST_F(Reader, TellsWhetherAFieldIsThere) {
  EXPECT_TRUE(reader_.has("null"));
  EXPECT_FALSE(reader_.has("gone"));
}

TEST(JsonReaderObject, AnythingElseThanAnObjectIsAnError) {
  EXPECT_EQ(JsonReader::object(Json::array(), "frame").error().message,
            "frame: expected an object, found []");
}

TEST(JsonNumber, NonFiniteValuesBecomeTheirNames) {
  EXPECT_EQ(json_number(std::nan("")), "nan");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(json_number(2.5), 2.5);
}

}  // namespace
}  // namespace ak
