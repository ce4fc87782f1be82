#include "autokernel/roofline/floor.h"

#include <gtest/gtest.h>

#include <limits>

namespace ak::roofline {
namespace {

Peaks example() {
  Peaks peaks;
  peaks.bandwidths = {{1 << 20, 4000, 0, Source::kMeasured}, {1 << 28, 1000, 900, Source::kMeasured}};
  peaks.matrix_tflops[DType::kF16] = {500, Source::kTable};
  return peaks;
}

TEST(Floor, OfManyBytesIsTheMemoryTime) {
  const Floor floor = floor_us({.bytes = 1e9, .flops = 1e9}, DType::kF16, example()).value();
  EXPECT_EQ(floor.bound, Bound::kMemory);
  EXPECT_DOUBLE_EQ(floor.us, 1000);  // 1e9 bytes at 1000 GB/s
  EXPECT_DOUBLE_EQ(*floor.compute_us, 2);
  EXPECT_EQ(floor.source, Source::kMeasured);
}

TEST(Floor, OfManyFlopsIsTheComputeTimeWithTheSourceOfItsRate) {
  const Floor floor = floor_us({.bytes = 1e9, .flops = 1e12}, DType::kF16, example()).value();
  EXPECT_EQ(floor.bound, Bound::kCompute);
  EXPECT_DOUBLE_EQ(floor.us, 2000);
  EXPECT_EQ(floor.source, Source::kTable);
}

TEST(Floor, TakesTheBandwidthAtTheFootprint) {
  EXPECT_DOUBLE_EQ(floor_us({.bytes = 1e6}, DType::kF16, example())->us, 0.25);
  EXPECT_DOUBLE_EQ(floor_us({.bytes = 1e6, .footprint_bytes = 1e9}, DType::kF16, example())->us, 1);
}

TEST(Floor, WithAnUnknownRateIsTheMemoryFloorAndSaysSo) {
  const Floor floor = floor_us({.bytes = 1e9, .flops = 1e15}, DType::kF64, example()).value();
  EXPECT_EQ(floor.bound, Bound::kMemory);
  EXPECT_FALSE(floor.compute_us);
  EXPECT_FALSE(floor.peak_tflops);
}

TEST(Floor, WithoutAnyBandwidthIsUnknown) { EXPECT_FALSE(floor_us({.bytes = 1}, DType::kF16, Peaks{})); }

TEST(Floor, OfNoWorkIsZero) { EXPECT_EQ(floor_us({}, DType::kF64, example())->us, 0); }

TEST(Utilisation, IsTheShareOfEachPeak) {
  const Work work{.bytes = 1e9, .flops = 1e11};
  const Floor floor = floor_us(work, DType::kF16, example()).value();
  const Utilisation used = utilisation(work, floor, 2000);
  EXPECT_DOUBLE_EQ(used.gbps, 500);
  EXPECT_DOUBLE_EQ(used.tflops, 50);
  EXPECT_DOUBLE_EQ(used.pct_peak_bandwidth, 50);
  EXPECT_DOUBLE_EQ(*used.pct_peak_compute, 10);
  EXPECT_DOUBLE_EQ(used.pct_of_floor, 50);
}

TEST(Amdahl, AHalfMadeTwiceAsFastGivesAThirdMore) { EXPECT_DOUBLE_EQ(amdahl_speedup(0.5, 2), 4.0 / 3); }

TEST(Amdahl, NothingAndEverythingAreTheEnds) {
  EXPECT_EQ(amdahl_speedup(0, 100), 1);
  EXPECT_EQ(amdahl_speedup(1, 100), 100);
  EXPECT_EQ(amdahl_limit(0), 1);
  EXPECT_EQ(amdahl_limit(0.75), 4);
  EXPECT_EQ(amdahl_limit(1), std::numeric_limits<double>::infinity());
}

TEST(Amdahl, ASlowerKernelMakesTheWholeSlower) { EXPECT_LT(amdahl_speedup(0.5, 0.5), 1); }

}  // namespace
}  // namespace ak::roofline
