#include "autokernel/roofline/gpu_table.h"

#include <gmock/gmock.h>

namespace ak::roofline {
namespace {

TEST(GpuTable, GivesTheVendorsFiguresAndSaysSo) {
  const auto peaks = table_peaks("NVIDIA H200");
  ASSERT_TRUE(peaks) << peaks.error().message;
  ASSERT_TRUE(*peaks);
  EXPECT_EQ((*peaks)->gbps(1u << 30), (Rate{4800, Source::kTable}));
  EXPECT_EQ((*peaks)->tflops(DType::kBF16), (Rate{989, Source::kTable}));
  EXPECT_EQ((*peaks)->tflops(DType::kF32), (Rate{67, Source::kTable}));
}

TEST(GpuTable, AGpuThatItDoesNotHaveIsUnknown) {
  const auto peaks = table_peaks("NVIDIA H20");  // no prefix of another will do
  ASSERT_TRUE(peaks);
  EXPECT_FALSE(*peaks);
  const auto v100 = table_peaks("Tesla V100-SXM2-32GB");
  ASSERT_TRUE(v100 && *v100);
  EXPECT_FALSE((*v100)->tflops(DType::kBF16));  // it has no bf16
}

}  // namespace
}  // namespace ak::roofline
