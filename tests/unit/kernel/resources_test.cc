// check_resources: limits that only the compiled code shows.
#include <gtest/gtest.h>

#include "samples.h"

namespace ak::kernel {
namespace {

using namespace ak::kernel::testing;

LaunchPlan plan() {
  LaunchPlan result;
  result.steps.push_back({.entry = "f",
                          .block = {256, 1, 1},
                          .shared_bytes = 1024,
                          .args = {TensorArg{"x"}, NullArg{}, std::int32_t{3}, 1.0f, TensorMapArg{"m"}}});
  return result;
}

Binary binary() {
  Binary result;
  result.entries = {{.name = "f", .param_bytes = {8, 8, 4, 4, 128}, .registers = 64, .hidden_args = {}}};
  return result;
}

std::string complaint(const Binary& compiled, const LaunchPlan& launched = plan()) {
  return check_resources(launched, compiled, gpu()).value_or("");
}

TEST(CheckResources, AFittingKernelPasses) { EXPECT_EQ(complaint(binary()), ""); }

TEST(CheckResources, ParametersMustMatchTheArguments) {
  Binary fewer = binary();
  fewer.entries[0].param_bytes.pop_back();
  EXPECT_EQ(complaint(fewer),
            "f takes 4 parameters, the launch passes 5: compare 'args' with the kernel's signature");
  Binary wider = binary();
  wider.entries[0].param_bytes[2] = 8;
  EXPECT_EQ(complaint(wider),
            "parameter 3 of f has 8 bytes, the launch passes 4: tensors are pointers, dims and expressions "
            "int, scalars "
            "float");
}

TEST(CheckResources, AFloatIsNoInteger) {
  Binary swapped = binary();
  swapped.entries[0].param_kinds = "pp?ii";
  EXPECT_EQ(complaint(swapped),
            "parameter 4 of f is an integer, the launch passes floating point: compare 'args' with the "
            "kernel's signature");
}

TEST(CheckResources, UnknownParametersAreNotCompared) {
  Binary silent = binary();
  silent.entries[0].param_bytes.clear();
  EXPECT_EQ(complaint(silent), "");
}

TEST(CheckResources, StaticAndDynamicSharedMemoryCountTogether) {
  Binary large = binary();
  large.entries[0].static_shared_bytes = 40 * 1024;
  LaunchPlan launched = plan();
  launched.steps[0].shared_bytes = 200 * 1024;
  EXPECT_EQ(complaint(large, launched),
            "f needs 40960 + 204800 = 245760 bytes of static and dynamic shared memory, the device's limit "
            "is 232448");
  large.entries[0].static_shared_bytes = 50 * 1024;
  EXPECT_EQ(complaint(large),
            "f has 51200 bytes of static shared memory, the device's limit is 49152; use shared_bytes");
}

TEST(CheckResources, RegistersOfABlockAreLimited) {
  Binary hungry = binary();
  hungry.entries[0].registers = 255;
  LaunchPlan launched = plan();
  launched.steps[0].block = {257, 1, 1};  // nine warps
  EXPECT_EQ(
      complaint(hungry, launched),
      "f needs 73728 registers for 257 threads of 255 each, the device's limit is 65536; set max_registers");
  launched.steps[0].block = {256, 1, 1};
  EXPECT_EQ(complaint(hungry, launched), "");
}

TEST(CheckResources, TheEntryMustBeThereWithItsBlock) {
  Binary other = binary();
  other.entries[0].name = "g";
  EXPECT_EQ(complaint(other), "the compiled code has no kernel 'f'");
  Binary fixed = binary();
  fixed.entries[0].block = {128, 1, 1};
  EXPECT_EQ(complaint(fixed), "f was compiled for blocks of 128 x 1 x 1 threads");
}

}  // namespace
}  // namespace ak::kernel
