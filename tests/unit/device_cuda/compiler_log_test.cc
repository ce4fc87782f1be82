#include "autokernel/device/cuda/compiler_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ak::cuda {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CompilerLog, KeepsTheMessagesAndDropsTheRest) {
  const std::string log =
      "k.cu(3): error: expected a \";\"\n  x\n  ^\n\nRemark: The warnings can be suppressed\n\n\n"
      "1 error detected in the compilation of \"k.cu\".\nCompilation terminated.\n";
  EXPECT_EQ(clean_log(log, {}), "k.cu(3): error: expected a \";\"\n  x\n  ^");
}

TEST(CompilerLog, HidesWhereTheToolkitLives) {
  const std::filesystem::path folders[] = {"/opt/cuda/include", "/"};
  EXPECT_EQ(clean_log("/opt/cuda/include/cuda_fp16.h(1): error: x", folders),
            "<cuda>/cuda_fp16.h(1): error: x");
}

TEST(CompilerLog, SaysHowMuchWasCutOff) {
  std::string log;
  for (int i = 0; i < 100; ++i) log += "k.cu(1): error: again\n";
  const std::string cleaned = clean_log(log, {}, 100);
  EXPECT_LT(cleaned.size(), 130u);
  EXPECT_THAT(cleaned, EndsWith("... (96 more lines)"));
}

TEST(CompilerLog, AnEntryThatIsMissingIsFoundAndItsMessagesAreNoPartOfTheLog) {
  const std::string log =
      "__nv_name_map(2): error: identifier \"k\" is undefined\n  #pragma nv_mangled_name k\n\n"
      "__nv_name_map(2): error: Error in parsing name expression. Input name expression was: \" k\"\n  ^\n\n"
      "k.cu(1): warning: x\n";
  EXPECT_EQ(missing_entry(log), "k");
  EXPECT_EQ(clean_log(log, {}), "k.cu(1): warning: x");
  EXPECT_EQ(missing_entry("k.cu(1): error: x\n"), std::nullopt);
}

TEST(CompilerLog, TellsIncludesThatReachOutside) {
  EXPECT_TRUE(
      reaches_outside("k.cu(1): catastrophic error: cannot open source file \"/proc/self/environ\"\n"));
  EXPECT_TRUE(
      reaches_outside("k.cu(1): catastrophic error: could not open source file \"../../etc/passwd\""));
  EXPECT_FALSE(reaches_outside("k.cu(1): catastrophic error: cannot open source file \"cutlass/gemm.h\""));
  EXPECT_FALSE(reaches_outside("k.cu(1): error: x /proc/self\n"));
}

}  // namespace
}  // namespace ak::cuda
