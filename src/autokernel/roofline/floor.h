#pragma once
// The roofline (Williams, Waterman, Patterson, 2009) as a time: no kernel is faster than its compulsory bytes
// at peak bandwidth, nor than its useful flops at the peak rate. And Amdahl's law, for what a faster kernel
// is worth.

#include <optional>

#include "autokernel/core/dtype.h"
#include "autokernel/roofline/peaks.h"

namespace ak::roofline {

enum class Bound { kMemory, kCompute };
std::string_view name(Bound bound);  ///< "memory", "compute"

/// What a problem must do at the least.
struct Work {
  double bytes = 0;            ///< compulsory: every input read once, every output written once
  double flops = 0;            ///< useful
  double footprint_bytes = 0;  ///< in use between two uses of the same data; 0: the same as `bytes`
};

struct Floor {
  double us = 0;  ///< the larger of the two
  Bound bound = Bound::kMemory;
  double memory_us = 0;
  std::optional<double> compute_us;  ///< nullopt: the rate of this dtype is not known (and flops are not 0)
  double peak_gbps = 0;
  std::optional<double> peak_tflops;
  Source source = Source::kMeasured;  ///< the less certain of the peaks that went into `us`
};

/// nullopt when no bandwidth of the device is known. An unknown matrix rate leaves the memory floor, which is
/// still a floor. Negative or non-finite work is a bug of the caller.
std::optional<Floor> floor_us(const Work& work, DType dtype, const Peaks& peaks);

/// What a measured time makes of the peaks, in percent; above 100 only if the peaks or the time are wrong.
struct Utilisation {
  double gbps = 0;
  double tflops = 0;
  double pct_peak_bandwidth = 0;
  std::optional<double> pct_peak_compute;
  double pct_of_floor = 0;  ///< floor / time
};
Utilisation utilisation(const Work& work, const Floor& floor, double time_us);

/// 1 / ((1 - f) + f / s): the whole's speedup when a share f of its time becomes s times faster. 0 <= f <= 1,
/// s > 0.
double amdahl_speedup(double share, double speedup);
/// 1 / (1 - f): its limit for a part that takes no time at all; infinite for f = 1.
double amdahl_limit(double share);

}  // namespace ak::roofline
