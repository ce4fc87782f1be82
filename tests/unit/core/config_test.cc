#include "autokernel/core/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ak {
namespace {

Config sample() {
  return {{{"THREADS", std::int64_t{256}},
           {"UNROLL", true},
           {"LAYOUT", std::string("nhwc")},
           {"SKEW", std::int64_t{-1}}}};
}

TEST(Config, PrintsAsAssignmentsInTheOrderOfNames) {
  EXPECT_EQ(sample().to_string(), "LAYOUT=nhwc SKEW=-1 THREADS=256 UNROLL=true");
}

TEST(Config, IsAPlainObjectInJson) {
  EXPECT_EQ(to_json(sample()).dump(), R"({"LAYOUT":"nhwc","SKEW":-1,"THREADS":256,"UNROLL":true})");
}

TEST(Config, RoundTripsThroughJson) {
  const auto back = config_from_json(to_json(sample()), "config");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample());
}

TEST(Config, HashTellsIntegersBooleansAndStringsApart) {
  const Config number{{{"A", std::int64_t{1}}}}, boolean{{{"A", true}}}, text{{{"A", std::string("1")}}};
  EXPECT_NE(number.hash(), boolean.hash());
  EXPECT_NE(number.hash(), text.hash());
  EXPECT_EQ(number.hash(), (Config{{{"A", std::int64_t{1}}}}.hash()));
}

TEST(Config, HashOfTextThatIsNotUtf8DoesNotAbort) {
  const Config odd{{{"A", std::string("\xff")}}};
  EXPECT_EQ(odd.hash().size(), 32u);
}

TEST(Config, RejectsValuesOfOtherTypes) {
  for (const char* text : {R"({"A":1.5})", R"({"A":null})", R"({"A":[1]})", R"({"A":{}})", R"([])", "3",
                           R"({"A":18446744073709551615})"}) {
    EXPECT_FALSE(config_from_json(Json::parse(text), "config")) << text;
  }
}

TEST(Config, AnErrorNamesTheTunable) {
  const auto result = config_from_json(Json::parse(R"({"VEC":1.5})"), "trial.config");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "trial.config.VEC: expected an integer, true, false or a string");
}

TEST(TunableValues, BooleansAreZeroAndOneAndStringsHaveNoInteger) {
  EXPECT_EQ(as_int(TunableValue(true)), 1);
  EXPECT_EQ(as_int(TunableValue(false)), 0);
  EXPECT_EQ(as_int(TunableValue(std::int64_t{-7})), -7);
  EXPECT_EQ(as_int(TunableValue(std::string("7"))), std::nullopt);
}

}  // namespace
}  // namespace ak
