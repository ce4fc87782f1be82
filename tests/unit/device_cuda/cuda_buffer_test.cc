#include "autokernel/device/cuda/cuda_buffer.h"

#include <gtest/gtest.h>

namespace ak::cuda {
namespace {

using device::Access;
using device::BufferSpec;
using device::Guard;

constexpr std::uint64_t kGranule = 2 << 20;

CudaBuffer placed(const BufferSpec& spec) {
  MemoryBlock block;
  block.bytes = (block_bytes(spec) + kGranule - 1) / kGranule * kGranule;
  block.write = 1ULL << 40;
  return place(spec, block, 7);
}

TEST(CudaBuffer, EndsAtTheEndOfItsBlockUpToTheAlignment) {
  const CudaBuffer buffer = placed({.bytes = 1000, .guard = Guard::kEndFlush, .alignment = 16});
  const std::uint64_t end = buffer.offset + 1000;
  EXPECT_EQ(buffer.offset % 16, 0u);
  EXPECT_LE(end, buffer.block.bytes);
  EXPECT_LT(buffer.block.bytes - end, 16u);
  ASSERT_EQ(buffer.zones.size(), 2u);  // the 8 bytes that the alignment leaves are watched as well
  EXPECT_EQ(buffer.zones[1].bytes, buffer.block.bytes - end);
}

TEST(CudaBuffer, StartsAtTheStartOfItsBlock) {
  const CudaBuffer buffer = placed({.bytes = 1000, .guard = Guard::kStartFlush});
  EXPECT_EQ(buffer.offset, 0u);
  ASSERT_EQ(buffer.zones.size(), 1u);
  EXPECT_EQ(buffer.zones[0].at, buffer.trusted() + 1000);
}

TEST(CudaBuffer, LiesBetweenRedZonesWithOnlyTheDeclaredAlignment) {
  const CudaBuffer buffer = placed({.bytes = 1000, .guard = Guard::kRedZone, .alignment = 2, .skew = 6});
  EXPECT_EQ(buffer.offset % 16, 6u);
  ASSERT_EQ(buffer.zones.size(), 2u);
  EXPECT_EQ(buffer.zones[0].at + buffer.zones[0].bytes, buffer.trusted());
  EXPECT_EQ(buffer.zones[1].at, buffer.trusted() + 1000);
  EXPECT_EQ(buffer.zones[1].bytes, 64u * 1024);
}

TEST(CudaBuffer, AHiddenOneHasNoZones) {
  EXPECT_TRUE(placed({.bytes = 1000, .access = Access::kHidden}).zones.empty());
  EXPECT_EQ(use_of({.access = Access::kHidden}), Use::kHidden);
}

TEST(CudaBuffer, ACandidateSeesTheReadOnlyMappingWhereThereIsOne) {
  CudaBuffer buffer = placed({.bytes = 8, .access = Access::kReadOnly});
  EXPECT_EQ(buffer.candidate(), buffer.trusted());
  buffer.block.read = 2ULL << 40;
  EXPECT_EQ(buffer.candidate() - buffer.block.read, buffer.trusted() - buffer.block.write);
}

}  // namespace
}  // namespace ak::cuda
