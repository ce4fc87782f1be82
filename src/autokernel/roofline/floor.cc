#include "autokernel/roofline/floor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autokernel/base/result.h"

namespace ak::roofline {
namespace {

// 1 GB/s moves 1e3 bytes in a microsecond, 1 TFLOP/s does 1e6 operations in one.
constexpr double kBytesPerUsPerGbps = 1e3;
constexpr double kFlopsPerUsPerTflops = 1e6;

bool is_amount(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

std::string_view name(Bound bound) { return bound == Bound::kMemory ? "memory" : "compute"; }

std::optional<Floor> floor_us(const Work& work, DType dtype, const Peaks& peaks) {
  AK_CHECK(is_amount(work.bytes) && is_amount(work.flops) && is_amount(work.footprint_bytes));
  const double footprint = work.footprint_bytes > 0 ? work.footprint_bytes : work.bytes;
  const auto bandwidth = peaks.gbps(static_cast<std::uint64_t>(std::min(footprint, 0x1p62)));
  if (!bandwidth) return std::nullopt;
  Floor floor;
  floor.peak_gbps = bandwidth->value;
  floor.memory_us = work.bytes / (bandwidth->value * kBytesPerUsPerGbps);
  floor.us = floor.memory_us;
  floor.source = bandwidth->source;
  const auto rate = peaks.tflops(dtype);
  if (rate) {
    floor.peak_tflops = rate->value;
    floor.compute_us = work.flops / (rate->value * kFlopsPerUsPerTflops);
  } else if (work.flops == 0) {
    floor.compute_us = 0;
  }
  if (floor.compute_us && *floor.compute_us > floor.memory_us) {
    floor.us = *floor.compute_us;
    floor.bound = Bound::kCompute;
    floor.source = rate->source;
  }
  return floor;
}

Utilisation utilisation(const Work& work, const Floor& floor, double time_us) {
  AK_CHECK(std::isfinite(time_us) && time_us > 0);
  Utilisation result;
  result.gbps = work.bytes / (time_us * kBytesPerUsPerGbps);
  result.tflops = work.flops / (time_us * kFlopsPerUsPerTflops);
  result.pct_peak_bandwidth = 100 * floor.memory_us / time_us;
  if (floor.compute_us) result.pct_peak_compute = 100 * *floor.compute_us / time_us;
  result.pct_of_floor = 100 * floor.us / time_us;
  return result;
}

double amdahl_speedup(double share, double speedup) {
  AK_CHECK(share >= 0 && share <= 1 && speedup > 0);
  return 1 / ((1 - share) + share / speedup);
}

double amdahl_limit(double share) {
  AK_CHECK(share >= 0 && share <= 1);
  return share == 1 ? std::numeric_limits<double>::infinity() : 1 / (1 - share);
}

}  // namespace ak::roofline
