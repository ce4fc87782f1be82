#include "autokernel/op/match.h"

#include <gmock/gmock.h>

#include "autokernel/op/op_family.h"

namespace ak::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = MatchArgument::Kind;

TEST(MatchStep, ReadsNamesLiteralsListsAndExpressions) {
  const Result<MatchStep> step =
      parse_step("y, mean = aten::some_op_(x, -1, 1e-5, 'tanh', [a, b], [-1, 2], true, none, _, D / 2)");
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_THAT(step->results, ElementsAre("y", "mean"));
  EXPECT_EQ(step->op, "aten::some_op");  // in place or not
  std::vector<Kind> kinds;
  std::vector<std::string> texts;
  for (const MatchArgument& argument : step->arguments) {
    kinds.push_back(argument.kind);
    texts.push_back(argument.text);
  }
  EXPECT_THAT(kinds,
              ElementsAre(Kind::kName, Kind::kLiteral, Kind::kLiteral, Kind::kLiteral, Kind::kList,
                          Kind::kLiteral, Kind::kLiteral, Kind::kLiteral, Kind::kAny, Kind::kExpression));
  EXPECT_THAT(texts, ElementsAre("x", "-1", "1e-5", "'tanh'", "", "[-1, 2]", "true", "none", "_", "D / 2"));
}

TEST(MatchStep, ErrorsNameTheColumn) {
  const auto error = [](const char* text) { return parse_step(text).error().message; };
  EXPECT_THAT(error("y aten::mul(x)"), HasSubstr("column 3: expected `=`"));
  EXPECT_THAT(error("y = mul(x)"), HasSubstr("column 8: expected `:`"));
  EXPECT_THAT(error("y = aten::mul(x"), HasSubstr("column 16: expected `)`"));
  EXPECT_THAT(error("y = aten::mul(x, 'a)"), HasSubstr("a closing quote"));
  EXPECT_THAT(error("y = aten::mul([a, 1])"), HasSubstr("not both"));
  EXPECT_THAT(error("y = aten::mul(x) z"), HasSubstr("nothing more"));
}

TEST(Match, BindsWhatTheFamilyKnowsByName) {
  const Registry registry = *Registry::create(embedded_families(), {});
  const Family& norm = **registry.find("rmsnorm");
  const auto written_out = std::find_if(norm.matches.begin(), norm.matches.end(),
                                        [](const Match& match) { return match.steps.size() > 1; });
  ASSERT_NE(written_out, norm.matches.end());
  EXPECT_TRUE(written_out->ignore_casts);
  EXPECT_EQ(written_out->tensors.at("weight"), "weight");
  EXPECT_EQ(written_out->scalars.at("eps").argument, "eps");
}

}  // namespace
}  // namespace ak::op
