#include "autokernel/device/cuda/cubin_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autokernel/base/file.h"

namespace ak::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// tests/fuzz/corpus/cubin/*.cubin: made by NVRTC 13.0 from
///   extern "C" __global__ void tile(float* x, int n, char c)   128 floats of shared memory
///   extern "C" __global__ void plain(float* x)
///   extern "C" __global__ void spill(int* p, int i)            64 ints of local memory
std::string cubin(const char* arch) {
  const auto text = read_file(std::string(AK_SOURCE_DIR) + "/tests/fuzz/corpus/cubin/" + arch + ".cubin");
  EXPECT_TRUE(text.has_value());
  return text.value_or("");
}

class CubinInfoOf : public ::testing::TestWithParam<const char*> {};

TEST_P(CubinInfoOf, ReadsTheResourcesOfEveryKernel) {
  const auto info = read_cubin(cubin(GetParam()));
  ASSERT_TRUE(info.has_value()) << info.error().message;
  ASSERT_EQ(info->kernels.size(), 3u);
  const CubinKernel* tile = info->find("tile");
  ASSERT_NE(tile, nullptr);
  EXPECT_GT(tile->registers, 0u);
  EXPECT_EQ(tile->local_bytes, 0u);
  EXPECT_EQ(tile->static_shared_bytes, 512u);
  EXPECT_THAT(tile->param_bytes, ElementsAre(8, 4, 1));
  EXPECT_EQ(info->find("plain")->static_shared_bytes, 0u);
  EXPECT_THAT(info->find("plain")->param_bytes, ElementsAre(8));
  EXPECT_EQ(info->find("spill")->local_bytes, 256u);
  EXPECT_EQ(info->find("absent"), nullptr);
  EXPECT_EQ(info->mutable_global_bytes, 0u);
  EXPECT_THAT(info->imports, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Architectures, CubinInfoOf, ::testing::Values("sm_80", "sm_90a", "sm_120"));

TEST(CubinInfo, SeesStateAndImports) {
  const auto info = read_cubin(cubin("state"));
  ASSERT_TRUE(info.has_value()) << info.error().message;
  EXPECT_EQ(info->mutable_global_bytes, 4u);
  EXPECT_THAT(info->imports, ElementsAre("vprintf"));
}

TEST(CubinInfo, WhatIsNoElfIsAnError) {
  for (const std::string& bytes : {std::string(),
                                   std::string("\x7f"
                                               "ELF"),
                                   std::string(200, '\0'), std::string("MZ")}) {
    EXPECT_FALSE(read_cubin(bytes).has_value());
  }
}

TEST(CubinInfo, ACubinWithoutItsSectionTableIsAnErrorWhereverItIsCut) {
  const std::string whole = cubin("sm_90a");
  for (std::size_t size = 0; size < whole.size() / 2; size += 7) {
    EXPECT_FALSE(read_cubin(whole.substr(0, size)).has_value()) << size;
  }
}

}  // namespace
}  // namespace ak::cuda
