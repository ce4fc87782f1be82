#include "autokernel/device/source_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace ak::device {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Source source() {
  Source result;
  result.name = "rmsnorm.cu";
  result.text = "first line\n";
  return result;
}

std::string prefix_of(const Source& source) {
  const auto text = source_prefix(source);
  EXPECT_TRUE(text.has_value()) << text.error().message;
  return text.value_or("");
}

std::string error_of(const Source& source) {
  const auto text = source_prefix(source);
  return text ? "no error" : text.error().message;
}

TEST(SourceText, KeepsTheKernelsOwnLineNumbers) {
  const auto text = source_text(source());
  ASSERT_TRUE(text.has_value());
  EXPECT_TRUE(text->ends_with("#line 1 \"rmsnorm.cu\"\nfirst line\n")) << *text;
}

TEST(SourceText, NamesTheTypeOfTheProblem) {
  Source half = source();
  half.dtype = DType::kF16;
  EXPECT_THAT(prefix_of(half),
              HasSubstr("#include <cuda_fp16.h>\n#define AK_DTYPE_F16 1\ntypedef __half scalar_t;"));
  EXPECT_THAT(prefix_of(source()), HasSubstr("#define AK_DTYPE_F32 1\ntypedef float scalar_t;"));
  EXPECT_THAT(prefix_of(source()), Not(HasSubstr("#include")));
}

TEST(SourceText, FlagsAndTunablesAreMacrosAndDimsAreConstants) {
  Source all = source();
  all.flags = {{"HAS_BIAS", 1}, {"ACT", 0}};
  all.tunables = {{"THREADS", std::int64_t{256}}, {"UNROLL", true}, {"VECTOR", std::string("float4")}};
  all.specialised = {{"N", 4096}};
  const std::string text = prefix_of(all);
  EXPECT_THAT(text, HasSubstr("#define HAS_BIAS 1\n"));
  EXPECT_THAT(text, HasSubstr("#define THREADS 256\n"));
  EXPECT_THAT(text, HasSubstr("#define UNROLL 1\n"));
  EXPECT_THAT(text, HasSubstr("#define VECTOR float4\n"));
  EXPECT_THAT(text, HasSubstr("constexpr int kN = 4096;\n"));
  EXPECT_THAT(text, Not(HasSubstr("#define N ")));
}

TEST(SourceText, NegativeAndWideIntegersKeepTheirValueInExpressions) {
  Source wide = source();
  wide.flags = {{"IGNORE", -100}, {"LOWEST", std::numeric_limits<std::int64_t>::min()}};
  wide.specialised = {{"M", std::int64_t{1} << 40}};
  EXPECT_THAT(prefix_of(wide), HasSubstr("#define IGNORE (-100)\n"));
  EXPECT_THAT(prefix_of(wide), HasSubstr("#define LOWEST (-9223372036854775807LL - 1)\n"));
  EXPECT_THAT(prefix_of(wide), HasSubstr("constexpr long long kM = 1099511627776LL;\n"));
}

TEST(SourceText, RefusesNamesThatAreNoIdentifiersOrTaken) {
  for (const char* name : {"", "1X", "A B", "A\nB", "if", "__x", "AK_DTYPE_F32", "scalar_t"}) {
    Source bad = source();
    bad.tunables = {{name, std::int64_t{1}}};
    EXPECT_THAT(error_of(bad), HasSubstr("tunable")) << name;
  }
}

TEST(SourceText, RefusesValuesThatWouldAddLines) {
  for (const char* value : {"1\n#include \"/etc/passwd\"", "1\r", "1\\"}) {
    Source bad = source();
    bad.tunables = {{"SHAPE", std::string(value)}};
    EXPECT_THAT(error_of(bad), HasSubstr("one line")) << value;
  }
}

TEST(SourceText, RefusesATunableThatHidesAFlag) {
  Source bad = source();
  bad.flags = {{"ACT", 1}};
  bad.tunables = {{"ACT", std::int64_t{0}}};
  EXPECT_THAT(error_of(bad), HasSubstr("name of a flag"));
}

TEST(SourceText, FileNamesCannotEndTheLineDirective) {
  Source odd = source();
  odd.name = "a\"\n\\.cu";
  EXPECT_TRUE(prefix_of(odd).ends_with("#line 1 \"a\\\"?\\\\.cu\"\n")) << prefix_of(odd);
}

}  // namespace
}  // namespace ak::device
