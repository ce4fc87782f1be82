#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;
using ::testing::HasSubstr;

constexpr std::string_view kTunables =
    "[tunables]\nVEC = [1, 2, 16]\nFAST = [true, false]\nKIND = [\"a\", 'b \"c\"']\n";

std::string with_table(std::string_view defaults) {
  return plain_text(std::string(kTunables) + std::string(defaults));
}

const Config kWinner =
    config_of({{"VEC", std::int64_t{16}}, {"FAST", false}, {"KIND", std::string("b \"c\"")}});

/// The text with the winner's values, which must differ from `text` by this replacement alone.
void expect_edit(std::string_view before, std::string_view after) {
  const Result<std::string> edited = with_defaults(parsed(with_table(before)), kWinner);
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_EQ(*edited, with_table(after));
}

TEST(WithDefaults, ReplacesTheValuesAndNothingElse) {
  expect_edit("[defaults] # the best so far\n  VEC   = 1 # narrow\nKIND = \"a\"\nFAST = true\n",
              "[defaults] # the best so far\n  VEC   = 16 # narrow\nKIND = \"b \\\"c\\\"\"\nFAST = false\n");
}

TEST(WithDefaults, WorksOnAnInlineTable) {
  expect_edit("[defaults]\nVEC=1\nFAST=true\nKIND='a'\n",
              "[defaults]\nVEC=16\nFAST=false\nKIND=\"b \\\"c\\\"\"\n");
  const std::string
      head = "/* autokernel\ndtypes = [\"f32\"]\n",
      tail = std::string(kTunables) +
             "[[launch]]\nentry = \"f\"\ngrid = [1]\nblock = [1]\nargs = []\n*/\n__global__ void f() {}\n";
  const KernelFile file = parsed(head + "defaults = {VEC=1,FAST=true,KIND=\"a\"}\n" + tail);
  EXPECT_EQ(*with_defaults(file, kWinner),
            head + "defaults = {VEC=16,FAST=false,KIND=\"b \\\"c\\\"\"}\n" + tail);
}

TEST(WithDefaults, CountsColumnsInCharactersNotInBytes) {
  const std::string text = with_table("[defaults]\nVEC = 1\nFAST = true\nKIND = \"a\"\n");
  const std::string accents = "// \xc3\xa9\xc3\xa9\xe6\xbc\xa2 \n";
  const Result<std::string> edited = with_defaults(parsed(accents + text), kWinner);
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_THAT(*edited, HasSubstr("VEC = 16\nFAST = false\n"));
}

TEST(WithDefaults, TheSameConfigLeavesEveryByte) {
  const KernelFile file = parsed(with_table("[defaults]\nVEC = 0x10\nFAST = true\nKIND = 'a'\n"));
  EXPECT_EQ(file.defaults.values.at("VEC"), TunableValue(std::int64_t{16}));
  EXPECT_EQ(*with_defaults(file, file.defaults), file.text);
}

TEST(WithDefaults, RefusesConfigsThatAreNotOfTheFile) {
  const KernelFile file = parsed(with_table("[defaults]\nVEC = 1\nFAST = true\nKIND = \"a\"\n"));
  Config config = kWinner;
  config.values["VEC"] = std::int64_t{3};
  EXPECT_THAT(with_defaults(file, config).error().message, HasSubstr("3 is none of VEC's values: 1, 2, 16"));
  config = kWinner;
  config.values["VCE"] = std::int64_t{1};
  EXPECT_THAT(with_defaults(file, config).error().message, HasSubstr("did you mean VEC?"));
  config = kWinner;
  config.values.erase("FAST");
  EXPECT_THAT(with_defaults(file, config).error().message, HasSubstr("no value for FAST"));
}

TEST(ConfigWith, ReplacesDefaultsByAssignments) {
  const KernelFile file = parsed(with_table("[defaults]\nVEC = 1\nFAST = true\nKIND = \"a\"\n"));
  const Result<Config> config = config_with(file, {"VEC=16", "KIND=b \"c\""});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->to_string(), "FAST=true KIND=b \"c\" VEC=16");
  EXPECT_EQ(*config_with(file, {}), file.defaults);
  EXPECT_EQ(config_with(file, {"FAST=0"})->values.at("FAST"), TunableValue(false));
}

TEST(ConfigWith, ErrorsQuoteTheAssignment) {
  const KernelFile file = parsed(with_table("[defaults]\nVEC = 1\nFAST = true\nKIND = \"a\"\n"));
  EXPECT_EQ(config_with(file, {"VEC"}).error().message, "--set VEC: expected NAME=VALUE, e.g. --set VEC=...");
  EXPECT_EQ(config_with(file, {"VCE=1"}).error().message,
            "--set VCE=1: test.cu has no tunable 'VCE'; did you mean VEC?");
  EXPECT_EQ(config_with(file, {"VEC=4"}).error().message, "--set VEC=4: VEC is one of 1, 2, 16");
  EXPECT_EQ(config_with(file, {"VEC="}).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace ak::kernel
