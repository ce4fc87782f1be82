#include "autokernel/roofline/gpu_table.h"

#include <gtest/gtest.h>

#include <set>

namespace ak::roofline {
namespace {

GpuTable table() {
  auto parsed = GpuTable::embedded();
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? *parsed : GpuTable();
}

DeviceInfo device(std::string name, std::string arch, std::uint32_t multiprocessors) {
  DeviceInfo info;
  info.name = std::move(name);
  info.arch = std::move(arch);
  info.multiprocessors = multiprocessors;
  return info;
}

TEST(GpuTable, FindsGpusByTheNamesThatDriversGive) {
  const GpuTable gpus = table();
  const std::pair<const char*, const char*> names[] = {
      {"NVIDIA H200", "H200 SXM"},
      {"NVIDIA H100 80GB HBM3", "H100 SXM"},
      {"NVIDIA H100 NVL", "H100 NVL"},
      {"NVIDIA H100 PCIe", "H100 PCIe"},
      {"NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"},
      {"NVIDIA A100-SXM4-40GB", "A100 SXM 40GB"},
      {"NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"},
      {"NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"},
      {"NVIDIA L40S", "L40S"},
      {"NVIDIA L4", "L4"},
      {"NVIDIA A10", "A10"},
      {"NVIDIA GeForce RTX 4090", "RTX 4090"},
      {"NVIDIA GeForce RTX 5090", "RTX 5090"},
      {"AMD Instinct MI355X", "MI355X"},
  };
  for (const auto& [driver, expected] : names) {
    const GpuFigures* found = gpus.find(driver);
    ASSERT_NE(found, nullptr) << driver;
    EXPECT_EQ(found->name, expected) << driver;
  }
}

TEST(GpuTable, EveryEntryNamesItsSourceAndIsFoundByItsOwnMatches) {
  const GpuTable gpus = table();
  EXPECT_EQ(gpus.gpus().size(), 23u);
  for (const GpuFigures& gpu : gpus.gpus()) {
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
    EXPECT_TRUE(gpu.tflops.contains("f16")) << gpu.name;
    for (const std::string& match : gpu.match) EXPECT_EQ(gpus.find(match), &gpu) << match;
  }
}

TEST(GpuTable, AListedGpuHasTheTablesPeaks) {
  const auto peaks = table().peaks_of(device("NVIDIA H200", "sm_90a", 132));
  ASSERT_TRUE(peaks);
  EXPECT_EQ(peaks->bandwidths.at(0).copy_gbps, 4800);
  EXPECT_EQ(peaks->tflops(DType::kBF16)->source, Source::kTable);
}

TEST(GpuTable, AnUnknownGpuIsEstimatedFromOneOfItsArchitecture) {
  const auto peaks = table().peaks_of(device("NVIDIA Something 7", "sm_90a", 66));
  ASSERT_TRUE(peaks);
  EXPECT_EQ(peaks->tflops(DType::kF16)->source, Source::kEstimated);
  EXPECT_NEAR(peaks->tflops(DType::kF16)->value, 989.4 / 2, 1);
}

TEST(GpuTable, NothingIsGuessedForAnUnknownArchitecture) {
  EXPECT_FALSE(table().peaks_of(device("Odd", "sm_42", 1)));
  EXPECT_EQ(table().find("Odd"), nullptr);
  EXPECT_EQ(table().find("NVIDIA H20"), nullptr);  // no prefix of another will do
}

TEST(GpuTable, ARateThatAGpuLacksStaysUnknown) {
  const auto peaks = table().peaks_of(device("Tesla V100-SXM2-32GB", "sm_70", 80));
  ASSERT_TRUE(peaks);
  EXPECT_FALSE(peaks->tflops(DType::kBF16));
}

TEST(GpuTable, SaysWhichFiguresWereNotChecked) {
  const GpuTable gpus = table();
  EXPECT_TRUE(gpus.find("NVIDIA H200")->unverified.empty());
  EXPECT_FALSE(gpus.find("NVIDIA H100 NVL")->unverified.empty());
  auto misspelt = GpuTable::parse(
      "[[gpu]]\nname = \"x\"\narch = \"a\"\nsource = \"s\"\nmatch = [\"x\"]\nmultiprocessors = 1\nmemory_gib "
      "= 1\n"
      "l2_mib = 1\ngbps = 1\ntflops = { f16 = 1 }\nunverified = [\"l2\"]\n",
      "mine.toml");
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().message.find("unverified"), std::string::npos);
}

TEST(GpuTable, TheRatesOfOneGpuAgreeWithEachOther) {
  const GpuTable gpus = table();
  for (const GpuFigures& gpu : gpus.gpus()) {
    const auto rate = [&](const char* type) { return gpu.tflops.contains(type) ? gpu.tflops.at(type) : 0; };
    if (rate("bf16") > 0) EXPECT_EQ(rate("bf16"), rate("f16")) << gpu.name;
    if (rate("tf32") > 0) EXPECT_NEAR(rate("tf32") / rate("f16"), 0.5, 0.012) << gpu.name;
    if (rate("fp8") > 0) EXPECT_NEAR(rate("fp8") / rate("f16"), 2, 0.03) << gpu.name;
    EXPECT_GT(rate("f16"), rate("f32")) << gpu.name;
  }
}

TEST(GpuTable, WhatMmaSyncReachesBoundsNoGpuThatHasTcgen05) {
  Peaks measured;
  measured.matrix_tflops = {{DType::kF16, {700, Source::kMeasured}}, {DType::kF32, {233, Source::kMeasured}}};
  measured.rates["fp32_fma"] = {70, Source::kMeasured};

  Peaks listed = measured;
  table().bound_unmeasured_rates(device("NVIDIA B200", "sm_100a", 148), listed);
  EXPECT_GT(listed.tflops(DType::kF16)->value, 2000);
  EXPECT_EQ(listed.tflops(DType::kF16)->source, Source::kTable);
  EXPECT_DOUBLE_EQ(listed.tflops(DType::kF32)->value, listed.tflops(DType::kF16)->value / 3);

  Peaks unlisted = measured;
  table().bound_unmeasured_rates(device("NVIDIA Thor", "sm_110a", 20), unlisted);
  EXPECT_TRUE(unlisted.matrix_tflops.empty());

  Peaks hopper = measured;
  table().bound_unmeasured_rates(device("NVIDIA H200", "sm_90a", 132), hopper);
  EXPECT_EQ(hopper, measured);
}

TEST(GpuTable, AFigureThatIsNoNumberIsAnError) {
  auto parsed = GpuTable::parse("[[gpu]]\nname = \"x\"\n", "mine.toml");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("mine.toml"), std::string::npos);
}

}  // namespace
}  // namespace ak::roofline
