#include "autokernel/harness/device_peaks.h"

#include <algorithm>

#include "autokernel/embed/harness_kernels.h"
#include "autokernel/harness/device_buffer.h"
#include "autokernel/harness/trusted_kernels.h"
#include "autokernel/roofline/gpu_table.h"

namespace ak::harness {
namespace {

using roofline::Rate;
using roofline::Source;

constexpr std::size_t kRounds = 8;
constexpr std::uint64_t kStreamBytes = 1ULL << 30;

std::vector<std::string> entries_for(std::string_view arch) {
  const int number = cuda_arch_number(arch).value_or(0);
  std::vector<std::string> entries = {"ak_peak_nothing", "ak_peak_copy", "ak_peak_read", "ak_peak_fma"};
  if (arch == "sm_90a") {
    for (const char* type : {"f16", "bf16", "tf32", "e4m3"})
      entries.push_back(fmt::format("ak_peak_wgmma_{}", type));
  } else if ((number >= 80 && number < 90) || number >= 120) {
    for (const char* type : {"f16", "bf16", "tf32"}) entries.push_back(fmt::format("ak_peak_mma_{}", type));
    if (number >= 89) entries.push_back("ak_peak_mma_e4m3");
  }
  return entries;
}

class PeakMeter {
 public:
  PeakMeter(device::Device& device, TrustedModule module) : device_(device), module_(std::move(module)) {}
  ~PeakMeter() { device_.unload(module_.id); }
  PeakMeter(const PeakMeter&) = delete;
  PeakMeter& operator=(const PeakMeter&) = delete;

  Result<device::Launch> launch(std::string_view entry, std::uint64_t blocks, std::uint32_t threads,
                                std::vector<device::Arg> args) {
    for (std::uint32_t i = 0; i < module_.binary.entries.size(); ++i) {
      if (module_.binary.entries[i].name != entry) continue;
      device::Launch launch;
      launch.module = module_.id;
      launch.entry = i;
      launch.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
      launch.block = {threads, 1, 1};
      launch.args = std::move(args);
      return launch;
    }
    return internal_error("no kernel {}", entry);
  }

  /// Shortest time of one of `repeats` executions, microseconds.
  Result<double> best_us(std::vector<device::Step> timed, std::uint32_t repeats) {
    device::Round round;
    round.timed = std::move(timed);
    round.repeats = repeats;
    const std::vector<device::Round> rounds(kRounds, round);
    AK_TRY(outcome, device_.time(rounds, {.budget = std::chrono::minutes(1), .min_rounds = kRounds}));
    if (outcome.fault) return internal_error("measuring peaks failed: {}", outcome.fault->message);
    double best = 0;
    for (const device::RoundTime& each : outcome.rounds) {
      if (each.us > 0 && (best == 0 || each.us < best)) best = each.us;
    }
    if (best <= 0) return internal_error("measuring peaks gave no time");
    return best;
  }

  bool has(std::string_view entry) const {
    return std::any_of(module_.binary.entries.begin(), module_.binary.entries.end(),
                       [&](const Entry& each) { return each.name == entry; });
  }

 private:
  device::Device& device_;
  TrustedModule module_;
};

Status measure_bandwidth(PeakMeter& meter, device::Device& device, roofline::Peaks& peaks) {
  const std::uint64_t bytes =
      std::min<std::uint64_t>(kStreamBytes, device.info().memory_bytes / 8) / (1 << 20) * (1 << 20);
  const device::BufferSpec spec{.bytes = bytes, .access = device::Access::kHidden};
  AK_TRY(from, DeviceBuffer::allocate(device, spec));
  AK_TRY(to, DeviceBuffer::allocate(device, spec));
  const auto vectors = static_cast<std::int64_t>(bytes / 16);
  const device::Step fill[] = {device::Fill{from.ref(), bytes, 0x3f9d70a4},
                               device::Fill{to.ref(), bytes, 0xbf9d70a4}};
  AK_TRY(filled, device.run(fill, std::chrono::seconds(10)));
  if (filled.fault) return internal_error("measuring peaks failed: {}", filled.fault->message);
  AK_TRY(copy, meter.launch("ak_peak_copy", bytes / 16384, 256, {from.ref(), to.ref(), vectors}));
  AK_TRY(read, meter.launch("ak_peak_read", bytes / 32768, 256, {from.ref(), vectors, to.ref()}));
  AK_TRY(copy_us, meter.best_us({copy}, 1));
  AK_TRY(read_us, meter.best_us({read}, 1));
  const auto amount = static_cast<double>(bytes);
  peaks.bandwidths.push_back(
      {2 * bytes, 2 * amount / copy_us / 1e3, amount / read_us / 1e3, Source::kMeasured});
  return {};
}

Status measure_rates(PeakMeter& meter, device::Device& device, roofline::Peaks& peaks) {
  AK_TRY(out, DeviceBuffer::allocate(device, {.bytes = 4096, .access = device::Access::kHidden}));
  const std::uint64_t processors = device.info().multiprocessors;
  constexpr std::int32_t kFmaSteps = 4096;
  AK_TRY(fma, meter.launch("ak_peak_fma", processors * 8, 256, {out.ref(), kFmaSteps, 0.99F}));
  AK_TRY(fma_us, meter.best_us({fma}, 1));
  const double fma_tflops = 64.0 * kFmaSteps * 256 * 8 * static_cast<double>(processors) / fma_us / 1e6;
  peaks.rates["fp32_fma"] = {fma_tflops, Source::kMeasured};
  for (const auto& [type, k] : {std::pair{"f16", 16.0}, {"bf16", 16.0}, {"tf32", 8.0}, {"e4m3", 32.0}}) {
    const std::string warpgroup = fmt::format("ak_peak_wgmma_{}", type),
                      warp = fmt::format("ak_peak_mma_{}", type);
    const bool wide = meter.has(warpgroup);
    if (!wide && !meter.has(warp)) continue;
    const std::int32_t steps = wide ? 4096 : 2048;
    // Two warpgroups of 64 x 256 x k, or eight warps with eight products of 16 x 8 x k.
    const double flops = wide ? 2 * 2 * 64.0 * 256 * k : 8 * 8 * 2 * 16.0 * 8 * k;
    const std::uint64_t blocks = processors * (wide ? 1 : 2);
    AK_TRY(launch, meter.launch(wide ? warpgroup : warp, blocks, 256, {out.ref(), steps}));
    AK_TRY(us, meter.best_us({launch}, 1));
    peaks.rates[type] = {flops * steps * static_cast<double>(blocks) / us / 1e6, Source::kMeasured};
  }
  if (auto f16 = peaks.rates.find("f16"); f16 != peaks.rates.end()) {
    peaks.matrix_tflops[DType::kF16] = f16->second;
    peaks.matrix_tflops[DType::kBF16] = peaks.rates.at("bf16");
    peaks.matrix_tflops[DType::kF32] = {std::max(fma_tflops, f16->second.value / 3), Source::kMeasured};
  }
  return {};
}

}  // namespace

Result<roofline::Peaks> measure_device_peaks(device::Device& device, device::Compiler& compiler,
                                             const Clock& clock) {
  ak::Source source;
  source.name = "peaks.cu";
  for (const EmbeddedFile& each : embed::harness_kernels()) {
    if (each.path == "peaks.cu") source.text = std::string(each.text);
  }
  source.arch = device.info().arch;
  source.entries = entries_for(source.arch);
  AK_TRY(module, load_trusted(device, compiler, source));
  PeakMeter meter(device, std::move(module));
  roofline::Peaks peaks;
  peaks.device_uuid = device.info().uuid;
  peaks.device_name = device.info().name;
  peaks.date = iso_time(clock.wall());
  AK_TRY_VOID(measure_bandwidth(meter, device, peaks));
  AK_TRY_VOID(measure_rates(meter, device, peaks));
  AK_TRY(table, roofline::GpuTable::embedded());
  table.bound_unmeasured_rates(device.info(), peaks);
  constexpr std::uint32_t kEmpty = 64;
  AK_TRY(nothing, meter.launch("ak_peak_nothing", 1, 32, {}));
  AK_TRY(launch_us, meter.best_us(std::vector<device::Step>(kEmpty, nothing), kEmpty));
  peaks.launch_floor_us = Rate{launch_us, Source::kMeasured};
  return peaks;
}

}  // namespace ak::harness
