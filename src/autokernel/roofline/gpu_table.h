#pragma once
// Vendor figures of GPUs (data/gpus.toml), for devices that were not measured. Matched by name; an unknown
// GPU gets an estimate that says so.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/core/device_info.h"
#include "autokernel/roofline/peaks.h"

namespace ak::roofline {

struct GpuFigures {
  std::string name;
  std::vector<std::string> match;
  std::string arch;
  std::uint32_t multiprocessors = 0;
  double memory_gib = 0, l2_mib = 0;
  double gbps = 0;                       ///< 1e9 bytes a second
  std::map<std::string, double> tflops;  ///< dense: "f16", "bf16", "tf32", "fp8", "f32", "f64"
  std::string source;
  std::vector<std::string> unverified;  ///< figures that were not checked against the source, by their keys
};

class GpuTable {
 public:
  /// `name` is for errors.
  static Result<GpuTable> parse(std::string_view text, const std::string& name);
  /// The table that the binary carries.
  static Result<GpuTable> embedded();

  const std::vector<GpuFigures>& gpus() const { return gpus_; }
  /// Every word of one of its `match` entries is a word of the device's name; of several the one with most
  /// words.
  const GpuFigures* find(std::string_view device_name) const;
  /// Peaks from the table, or scaled by multiprocessors from a listed GPU of the same architecture
  /// (kEstimated), or nullopt when nothing is comparable.
  std::optional<Peaks> peaks_of(const DeviceInfo& device) const;
  /// For GPUs whose fastest matrix instructions nobody measures here (tcgen05, sm_100a to sm_110a): the
  /// matrix rates that bound kernels become those of peaks_of() where they are higher, and unknown where it
  /// has none, since what mma.sync reached bounds nothing there. Other GPUs are left alone.
  void bound_unmeasured_rates(const DeviceInfo& device, Peaks& measured) const;

 private:
  std::vector<GpuFigures> gpus_;
};

}  // namespace ak::roofline
