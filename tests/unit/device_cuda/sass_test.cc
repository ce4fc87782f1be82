#include "autokernel/device/cuda/sass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autokernel/base/file.h"

namespace ak::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// In the form that `nvdisasm -c` prints.
constexpr std::string_view kSass = R"sass(
	.headerflags	@"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
.text.rmsnorm:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/                   HMMA.16816.F32.BF16 R8, R4, R12, R8 ;
.L_x_1:
        /*0030*/                   FFMA.FTZ R3, R4, R4, R3 ;
        /*0040*/                   { FADD R3, R3, R4 ;
        /*0050*/                   STS [R0], R3 ; }
        /*0060*/                   MUFU.RSQ R3, R3 ;
        /*0070*/              @P1  BRA `(.L_x_1) ;
        /*0080*/                   NOP;
)sass";

TEST(Sass, InstructionsAreCountedByClass) {
  EXPECT_THAT(
      count_instructions(kSass),
      UnorderedElementsAre(Pair("integer and other", 1), Pair("global", 1), Pair("HMMA", 1), Pair("fp32", 2),
                           Pair("shared", 1), Pair("special", 1), Pair("branches", 1)));
  EXPECT_TRUE(count_instructions("").empty());
  EXPECT_TRUE(count_instructions("/* no end\n.L_x_1:\n*/ /*").empty());
}

TEST(Sass, ADisassemblerThatFailsIsAnErrorWithItsWords) {
  auto folder = TempDir::create("autokernel-test");
  ASSERT_TRUE(folder);
  const auto tool = folder->path() / "nvdisasm";
  ASSERT_TRUE(write_file_atomic(tool, "#!/bin/sh\necho 'too new an architecture' >&2\nexit 3\n"));
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  Binary binary;
  binary.arch = "sm_90a";
  const auto mix = instruction_mix(tool, binary);
  ASSERT_FALSE(mix);
  EXPECT_THAT(mix.error().message, HasSubstr("too new an architecture"));
}

TEST(Sass, TheToolkitOfTheSearchIsTakenAndNothingWhereThereIsNone) {
  if (find_program("nvdisasm")) GTEST_SKIP() << "an nvdisasm on PATH comes first";
  auto folder = TempDir::create("autokernel-test");
  ASSERT_TRUE(folder);
  NvrtcSearch search;
  search.toolkits = folder->path();
  EXPECT_EQ(find_nvdisasm(search, ""), "");
  EXPECT_EQ(find_nvdisasm(search, "/nowhere/python"), "");
  const auto tool = folder->path() / "cuda/bin/nvdisasm";
  std::filesystem::create_directories(tool.parent_path());
  ASSERT_TRUE(write_file_atomic(tool, ""));
  EXPECT_EQ(find_nvdisasm(search, ""), tool);
}

}  // namespace
}  // namespace ak::cuda
