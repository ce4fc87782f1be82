#include "autokernel/cli/code_explanation.h"

#include <gtest/gtest.h>

namespace ak::cli {
namespace {

DeviceInfo hopper() {
  DeviceInfo info;
  info.kind = "cuda";
  info.arch = "sm_90a";
  info.shared_bytes_per_multiprocessor = 228 * 1024;
  return info;
}

LaunchStep block_of(std::uint32_t threads, std::uint32_t shared_bytes = 0) {
  LaunchStep step;
  step.block = {threads, 1, 1};
  step.shared_bytes = shared_bytes;
  return step;
}

Entry entry_with(std::uint32_t registers, std::uint32_t static_shared_bytes = 0) {
  Entry entry;
  entry.registers = registers;
  entry.static_shared_bytes = static_shared_bytes;
  return entry;
}

TEST(Occupancy, IsFullForASmallKernel) {
  const Occupancy found = occupancy_of(block_of(256), entry_with(32), hopper());
  EXPECT_EQ(found.blocks, 8u);
  EXPECT_EQ(found.share, 1);
  EXPECT_EQ(found.limiter, "threads");
}

TEST(Occupancy, IsLimitedByRegistersAllocatedToWholeWarps) {
  // 255 registers x 32 threads are 8192 of 65536: 8 warps, one block of 256 threads.
  const Occupancy found = occupancy_of(block_of(256), entry_with(255), hopper());
  EXPECT_EQ(found.blocks, 1u);
  EXPECT_EQ(found.limiter, "registers");
}

TEST(Occupancy, IsLimitedBySharedMemoryWithTheReservedKibibyte) {
  const Occupancy found = occupancy_of(block_of(128, 75 * 1024), entry_with(32), hopper());
  EXPECT_EQ(found.blocks, 3u);  // 3 x 76 KiB are all of 228
  EXPECT_EQ(found.limiter, "shared memory");
}

TEST(Occupancy, IsLimitedByTheNumberOfBlocks) {
  const Occupancy found = occupancy_of(block_of(32), entry_with(16), hopper());
  EXPECT_EQ(found.blocks, 32u);
  EXPECT_EQ(found.limiter, "blocks");
}

TEST(AccessWidths, AreReadFromOpcodes) {
  const AccessWidths found = access_widths(
      "  ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];\n  ld.global.u16 %rs1, [%rd2];\n"
      "  @%p1 st.global.v2.b32 [%rd3], {%r1, %r2};\n  ld.shared.v4.f32 {%f1}, [%r1];\n");
  EXPECT_EQ(found.loads, (std::map<int, int>{{16, 1}, {2, 1}}));
  EXPECT_EQ(found.stores, (std::map<int, int>{{8, 1}}));
}

}  // namespace
}  // namespace ak::cli
