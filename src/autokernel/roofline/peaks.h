#pragma once
// What a device can do at best: bandwidths, matrix rates, the cost of an empty launch. Every number says
// where it comes from.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"
#include "autokernel/core/dtype.h"

namespace ak::roofline {

/// Measured here by the harness, taken from a table of the vendor's figures, or estimated for an unknown
/// device.
enum class Source { kMeasured, kTable, kEstimated };
std::string_view name(Source source);  ///< "measured", "table", "estimated"
std::optional<Source> source_from_name(std::string_view name);

struct Rate {
  double value = 0;
  Source source = Source::kMeasured;
  bool operator==(const Rate&) const = default;
};

/// Bandwidth with this many bytes in use: caches make small footprints faster. Copy counts bytes read and
/// written.
struct Bandwidth {
  std::uint64_t footprint_bytes = 0;
  double copy_gbps = 0;  ///< 1e9 bytes a second; 0: not measured
  double read_gbps = 0;  ///< 0: not measured
  Source source = Source::kMeasured;
  bool operator==(const Bandwidth&) const = default;
};

struct Peaks {
  std::string device_uuid;
  std::string device_name;
  std::string date;                     ///< ISO 8601, when they were measured or looked up
  std::vector<Bandwidth> bandwidths;    ///< ascending footprints
  std::map<DType, Rate> matrix_tflops;  ///< no kernel of this input dtype is faster
  std::map<std::string, Rate> rates;    ///< TFLOP/s by instruction: "fp32_fma", "f16", "tf32", "e4m3"
  std::optional<Rate> launch_floor_us;  ///< device time of an empty kernel

  bool operator==(const Peaks&) const = default;

  /// The higher of copy and read bandwidth at a footprint, interpolated between the logarithms of the
  /// measured footprints, the nearest one outside them. nullopt when no bandwidth is known.
  std::optional<Rate> gbps(std::uint64_t footprint_bytes) const;
  /// nullopt when the rate of this dtype is not known.
  std::optional<Rate> tflops(DType dtype) const;
};

Json to_json(const Peaks& peaks);
/// Numbers must be finite and not negative, footprints ascending.
Result<Peaks> peaks_from_json(const Json& json, const std::string& what);

}  // namespace ak::roofline
