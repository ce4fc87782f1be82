#include "autokernel/roofline/peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ak::roofline {
namespace {

Peaks example() {
  Peaks peaks;
  peaks.device_uuid = "GPU-1";
  peaks.device_name = "Example GPU";
  peaks.date = "2026-11-30T12:00:00Z";
  peaks.bandwidths = {{1 << 20, 400, 500, Source::kMeasured}, {1 << 24, 200, 100, Source::kTable}};
  peaks.matrix_tflops = {{DType::kF32, {60, Source::kEstimated}}, {DType::kBF16, {900, Source::kMeasured}}};
  peaks.launch_floor_us = Rate{2.25, Source::kMeasured};
  return peaks;
}

TEST(Peaks, SurviveARoundTripThroughJson) {
  EXPECT_EQ(peaks_from_json(to_json(example()), "peaks").value(), example());
  EXPECT_EQ(peaks_from_json(to_json(Peaks{}), "peaks").value(), Peaks{});
}

TEST(Peaks, BandwidthIsTheHigherOfCopyAndRead) {
  EXPECT_EQ(example().gbps(1 << 20)->value, 500);
  EXPECT_EQ(example().gbps(1 << 24)->value, 200);
}

TEST(Peaks, BandwidthIsInterpolatedBetweenLogarithmsOfFootprints) {
  const Rate middle = example().gbps(1 << 22).value();
  EXPECT_NEAR(middle.value, 350, 1e-9);
  EXPECT_EQ(middle.source, Source::kTable) << "the less certain of the two";
}

TEST(Peaks, BandwidthOutsideTheMeasuredFootprintsIsTheNearest) {
  EXPECT_EQ(example().gbps(0)->value, 500);
  EXPECT_EQ(example().gbps(std::uint64_t{1} << 40)->value, 200);
}

TEST(Peaks, NothingMeasuredIsUnknownAndNotZero) {
  EXPECT_FALSE(Peaks{}.gbps(1024));
  EXPECT_FALSE(Peaks{}.tflops(DType::kF32));
  EXPECT_FALSE(example().tflops(DType::kF16));
  Peaks zero;
  zero.bandwidths = {{1024, 0, 0, Source::kMeasured}};
  zero.matrix_tflops[DType::kF32] = {0, Source::kMeasured};
  EXPECT_FALSE(zero.gbps(1024));
  EXPECT_FALSE(zero.tflops(DType::kF32));
}

TEST(Peaks, HostileJsonIsAnErrorThatNamesTheField) {
  const auto message_after = [](auto&& damage) {
    Json json = to_json(example());
    damage(json);
    const auto peaks = peaks_from_json(json, "peaks");
    return peaks ? std::string("accepted") : peaks.error().message;
  };
  using testing::HasSubstr;
  EXPECT_THAT(message_after([](Json& json) { json.erase("date"); }), HasSubstr("date"));
  EXPECT_THAT(message_after([](Json& json) { json["schema"] = 99; }), HasSubstr("schema"));
  EXPECT_THAT(message_after([](Json& json) { json = "text"; }), HasSubstr("peaks"));
  EXPECT_THAT(message_after([](Json& json) { json["bandwidths"][0]["copy_gbps"] = -1; }),
              HasSubstr("copy_gbps"));
  EXPECT_THAT(message_after([](Json& json) { json["bandwidths"][1]["read_gbps"] = "inf"; }),
              HasSubstr("read_gbps"));
  EXPECT_THAT(message_after([](Json& json) { json["bandwidths"][0]["footprint_bytes"] = -5; }),
              HasSubstr("footprint"));
  EXPECT_THAT(message_after([](Json& json) { json["bandwidths"][1]["footprint_bytes"] = 1; }),
              HasSubstr("ascend"));
  EXPECT_THAT(message_after([](Json& json) { json["bandwidths"][0]["source"] = "guessed"; }),
              HasSubstr("guessed"));
  EXPECT_THAT(message_after([](Json& json) { json["matrix_tflops"]["f7"] = 1; }), HasSubstr("f7"));
  EXPECT_THAT(message_after([](Json& json) { json["launch_floor_us"] = 3; }), HasSubstr("launch_floor_us"));
}

}  // namespace
}  // namespace ak::roofline
