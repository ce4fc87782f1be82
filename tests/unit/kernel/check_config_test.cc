#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autokernel/kernel/space.h"
#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;
using ::testing::HasSubstr;

/// A file with tunables AA and BB and these other parts.
std::string limits_text(std::string_view constraints, std::string_view launch) {
  return file_text(
      "dtypes = [\"f32\"]\n[tunables]\nAA = [1, 2, 8, 64, 128, 100000]\nBB = [0, 1, 2, 8, 64]\n[defaults]\n"
      "AA = 1\nBB = 1\n" +
      std::string(constraints) + "[[launch]]\nentry = \"f\"\nargs = []\n" + std::string(launch));
}

std::string reason(const std::string& text, std::int64_t a, std::int64_t b, const DeviceInfo& device = gpu(),
                   const Problem& on = problem()) {
  const auto invalid = check_config(parsed(text), config_of({{"AA", a}, {"BB", b}}), on, device);
  EXPECT_TRUE(invalid) << invalid.error().message;
  return invalid && *invalid ? (*invalid)->reason : "";
}

TEST(CheckConfig, ABlockOfTooManyThreadsNamesTheSizesTheSumAndTheLimit) {
  const std::string text = limits_text("", "grid = [1]\nblock = [\"AA\", \"BB\"]\n");
  EXPECT_EQ(reason(text, 64, 64), "block of 64 x 64 = 4096 threads exceeds the device's limit of 1024");
  EXPECT_EQ(reason(text, 128, 8), "");
  const std::string flat = limits_text("", "grid = [1]\nblock = [\"AA * BB\"]\n");
  EXPECT_EQ(reason(flat, 64, 64), "block of 4096 threads exceeds the device's limit of 1024");
}

TEST(CheckConfig, EachAxisOfABlockHasALimitOfItsOwn) {
  const std::string text = limits_text("", "grid = [1]\nblock = [1, 1, \"AA\"]\n");
  EXPECT_EQ(reason(text, 128, 1), "block size of 128 in z exceeds the device's limit of 64");
  EXPECT_EQ(reason(text, 64, 1), "");
}

TEST(CheckConfig, EmptyBlocksAndGridsAreInvalid) {
  EXPECT_EQ(reason(limits_text("", "grid = [1]\nblock = [\"AA\", \"BB\"]\n"), 8, 0),
            "block of 8 x 0 is empty: its size in y must be 1 or more");
  EXPECT_EQ(reason(limits_text("", "grid = [\"AA - 8\"]\nblock = [1]\n"), 8, 0),
            "grid of 0 is empty: its size in x must be 1 or more");
  EXPECT_THAT(reason(limits_text("", "grid = [\"1 - AA\"]\nblock = [1]\n"), 8, 0),
              HasSubstr("grid of -7 is empty"));
}

TEST(CheckConfig, EachAxisOfAGridHasALimit) {
  const std::string text = limits_text("", "grid = [\"AA\", \"AA\"]\nblock = [1]\n");
  EXPECT_EQ(reason(text, 100000, 1), "grid size of 100000 in y exceeds the device's limit of 65535");
}

TEST(CheckConfig, SharedMemoryIsLimited) {
  const std::string text = limits_text("", "grid = [1]\nblock = [1]\nshared_bytes = \"4 * AA - 8\"\n");
  EXPECT_EQ(reason(text, 100000, 1), "399992 bytes of shared memory exceed the device's limit of 232448");
  EXPECT_EQ(reason(text, 1, 1), "shared memory of -4 bytes is negative");
  EXPECT_EQ(reason(text, 128, 1), "");
}

TEST(CheckConfig, AConstraintIsQuotedWithTheValuesThatBreakIt) {
  EXPECT_EQ(reason(limits_text("[constraints]\nwhere = [\"AA * BB <= 512\"]\n", "grid = [1]\nblock = [1]\n"),
                   128, 64),
            "where does not hold: AA * BB <= 512 (AA = 128, BB = 64)");
  EXPECT_EQ(
      reason(limits_text("[constraints]\nneeds = [\"N % AA == 0\"]\n", "grid = [1]\nblock = [1]\n"), 8, 1),
      "needs does not hold: N % AA == 0 (N = 100, AA = 8)");
}

TEST(CheckConfig, ExpressionsSeeFlagsOptionalTensorsAndTheDevice) {
  const auto holds = [](const char* condition) {
    return reason(limits_text("[constraints]\nwhere = [\"" + std::string(condition) + "\"]\n",
                              "grid = [1]\nblock = [1]\n"),
                  1, 1)
        .empty();
  };
  EXPECT_TRUE(holds("CAUSAL == 1 && HAS_WEIGHT == 0 && HAS_RESIDUAL == 0 && M == 64"));
  EXPECT_TRUE(holds("elem_bytes == 4 && warp_size == 32 && max_threads == 1024 && multiprocessors == 132"));
  EXPECT_TRUE(holds("max_shared_bytes == 227 * 1024"));
  EXPECT_FALSE(holds("HAS_RESIDUAL"));
}

TEST(CheckConfig, ClustersNeedADeviceThatHasThemAndDivideTheGrid) {
  const std::string text = limits_text("", "grid = [64]\nblock = [1]\ncluster = [\"AA\"]\n");
  DeviceInfo without = gpu();
  without.clusters = false;
  EXPECT_EQ(reason(text, 2, 1, without), "cluster of 2 blocks: the device has no clusters");
  EXPECT_EQ(reason(text, 1, 1, without), "");
  EXPECT_EQ(reason(text, 8, 1), "");
  EXPECT_EQ(reason(text, 64, 1), "cluster of 64 = 64 blocks exceeds the limit of 8");
  EXPECT_EQ(reason(limits_text("", "grid = [63]\nblock = [1]\ncluster = [\"AA\"]\n"), 2, 1),
            "grid size of 63 in x is no multiple of the cluster's 2");
}

TEST(CheckConfig, ACooperativeGridMustFitOnTheDeviceAtOnce) {
  const std::string text = limits_text("", "grid = [\"AA\"]\nblock = [1024]\ncooperative = true\n");
  EXPECT_EQ(reason(text, 100000, 1), "cooperative launch of 100000 blocks: at most 264 are resident at once");
  EXPECT_EQ(reason(text, 128, 1), "");
  DeviceInfo cpu = gpu();
  cpu.kind = "cpu";
  EXPECT_EQ(reason(text, 100000, 1, cpu), "");
}

TEST(CheckConfig, WorkspacesTensorMapsAndRegistersAreLimited) {
  DeviceInfo device = gpu();
  device.memory_bytes = 1000;
  const std::string launch = "grid = [1]\nblock = [1]\n";
  EXPECT_EQ(
      reason(limits_text("", launch + "[[workspace]]\nname = \"ws\"\nbytes = \"AA\"\n"), 100000, 1, device),
      "workspace ws of 100000 bytes exceeds the device's memory of 1000");
  EXPECT_EQ(reason(limits_text("", launch + "[[workspace]]\nname = \"ws\"\nbytes = \"1 - AA\"\n"), 2, 1),
            "workspace ws of -1 bytes is negative");
  const std::string map = launch + "[[tensormap]]\nname = \"map\"\ntensor = \"x\"\nbox = [\"AA\"]\n";
  EXPECT_THAT(reason(limits_text("", map), 100000, 1),
              HasSubstr("a box of 100000 has a size outside 1 to 256"));
  device.tensor_maps = false;
  EXPECT_EQ(reason(limits_text("", map), 1, 1, device), "tensor map map: the device has no tensor maps");
  EXPECT_EQ(reason(limits_text("", launch) + "", 1, 1), "");
  std::string registers = limits_text("", launch);
  registers.replace(registers.find("[tunables]"), 0, "max_registers = \"AA\"\n");
  EXPECT_EQ(reason(registers, 8, 1), "max_registers of 8 is outside 16 to 255");
}

TEST(CheckConfig, AnotherDtypeOrArchitectureIsInvalid) {
  const std::string text = limits_text("", "grid = [1]\nblock = [1]\n");
  Problem half = problem();
  half.dtype = DType::kF16;
  EXPECT_EQ(reason(text, 1, 1, gpu(), half), "dtype f16 is not among the file's: f32");
  std::string hopper = text;
  hopper.replace(hopper.find("[tunables]"), 0, "arch = [\"sm_100a\"]\n");
  EXPECT_EQ(reason(hopper, 1, 1), "the file is for sm_100a, the device is sm_90a");
}

TEST(CheckConfig, AConfigOfAnotherFileIsInvalid) {
  const KernelFile file = parsed(limits_text("", "grid = [1]\nblock = [1]\n"));
  const auto why = [&](const Config& config) {
    return (*check_config(file, config, problem(), gpu()))->reason;
  };
  EXPECT_EQ(why(config_of({{"AA", std::int64_t{1}}})), "the config has no value for BB");
  EXPECT_EQ(why(config_of({{"AA", std::int64_t{1}}, {"BB", std::int64_t{7}}})),
            "BB=7 is not one of 0, 1, 2, 8, 64");
  EXPECT_THAT(why(config_of({{"AA", std::int64_t{1}}, {"BB", std::int64_t{1}}, {"CC", true}})),
              HasSubstr("no tunable 'CC'"));
}

TEST(CheckConfig, WhatCannotBeEvaluatedIsAnError) {
  const KernelFile file =
      parsed(limits_text("[constraints]\nwhere = [\"N / BB > 0\"]\n", "grid = [1]\nblock = [1]\n"));
  const auto result =
      check_config(file, config_of({{"AA", std::int64_t{1}}, {"BB", std::int64_t{0}}}), problem(), gpu());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "test.cu: where: N / BB > 0 cannot be evaluated for AA=1 BB=0: column 3: division by zero\n"
            "  N / BB > 0\n    ^");
}

TEST(CheckConfig, AnUnknownNameIsAnErrorAtItsPlace) {
  const KernelFile file =
      parsed(limits_text("[constraints]\nwhere = [\"A > 1 && AAA > 1\"]\n", "grid = [1]\nblock = [1]\n"));
  const auto result = check_config(file, file.defaults, problem({{"A", 3}}), gpu());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, ::testing::StartsWith("test.cu:10:20: unknown name 'AAA'"));
  EXPECT_THAT(result.error().message, HasSubstr("did you mean AA?"));
}

TEST(CheckConfig, AnOptionalTensorThatNoLaunchPassesIsOutsideOfTheDomain) {
  const KernelFile file = parsed(plain_text(""));
  const auto with = check_config(file, file.defaults, problem({{"M", 64}, {"N", 100}}, {"weight"}), gpu());
  ASSERT_TRUE(with && *with);
  EXPECT_NE((*with)->reason.find("takes no `weight`"), std::string::npos);
  const auto without = check_config(file, file.defaults, problem(), gpu());
  ASSERT_TRUE(without);
  EXPECT_FALSE(*without);
}

}  // namespace
}  // namespace ak::kernel
