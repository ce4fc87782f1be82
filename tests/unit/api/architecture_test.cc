#include "autokernel/api/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ak::api {
namespace {

TEST(Architecture, TheCpuIsThisMachine) {
  auto info = describe_architecture("cpu");
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->kind, "cpu");
  EXPECT_GE(info->multiprocessors, 1U);
}

TEST(Architecture, SharedMemoryFollowsTheComputeCapability) {
  EXPECT_EQ(describe_architecture("sm_80")->dynamic_shared_bytes, 163U * 1024);
  EXPECT_EQ(describe_architecture("sm_86")->dynamic_shared_bytes, 99U * 1024);
  EXPECT_EQ(describe_architecture("sm_90a")->dynamic_shared_bytes, 227U * 1024);
}

TEST(Architecture, ClustersExistFromHopperOn) {
  EXPECT_FALSE(describe_architecture("sm_89")->clusters);
  EXPECT_TRUE(describe_architecture("sm_90")->clusters);
}

TEST(Architecture, ANameThatIsNoArchitectureIsAUsageError) {
  for (const char* name : {"", "gpu", "sm_", "sm_9x", "sm_90ab", "sm_99999999999999", "sm_-1"}) {
    auto info = describe_architecture(name);
    ASSERT_FALSE(info) << name;
    EXPECT_EQ(info.error().code, ErrorCode::kUsage);
    EXPECT_THAT(info.error().message, testing::HasSubstr("sm_90a"));
  }
}

}  // namespace
}  // namespace ak::api
