// What can measure: devices, with their limits and peaks.

#include <nlohmann/json.hpp>
#include <thread>

#include "autokernel/base/file.h"
#include "autokernel/cli/commands.h"
#include "autokernel/device/cpu/cpu_device.h"
#include "autokernel/device/cuda/cuda_device.h"
#include "autokernel/device/cuda/driver_api.h"
#include "autokernel/harness/harness.h"
#include "autokernel/roofline/gpu_table.h"
#include "autokernel/roofline/peak_store.h"

namespace ak::cli {
namespace {

struct Listed {
  DeviceInfo info;
  std::optional<roofline::Peaks> peaks;
};

/// Stored peaks, or those of the table; `devices --measure` puts measured ones into the store first.
std::optional<roofline::Peaks> known_peaks(Session& session, const roofline::GpuTable& table,
                                           const DeviceInfo& info) {
  const roofline::PeakStore store(cache_directory() / "peaks", session.log());
  if (auto stored = store.load(info.uuid)) return stored;
  return table.peaks_of(info);
}

Status measure(Session& session, int ordinal) {
  AK_TRY(parts, parts_factory(fmt::format("cuda:{}", ordinal),
                              session.options().unsafe_no_sandbox)(worker::Role::kMeasure));
  const roofline::PeakStore store(cache_directory() / "peaks", session.log());
  AK_TRY(peaks, harness::measure_device_peaks(*parts.device, *parts.compiler, session.clock()));
  return store.save(peaks);
}

std::string peaks_text(const roofline::Peaks& peaks) {
  std::string out;
  if (!peaks.bandwidths.empty()) {
    const roofline::Bandwidth& last = peaks.bandwidths.back();
    out += fmt::format("  bandwidth: copy {:.0f} GB/s, read {:.0f} GB/s ({})\n", last.copy_gbps,
                       last.read_gbps, name(last.source));
  }
  for (const auto& [type, rate] : peaks.rates) {
    out += fmt::format("  {}: {:.4g} TFLOP/s ({})\n", type, rate.value, name(rate.source));
  }
  if (peaks.launch_floor_us)
    out += fmt::format("  empty kernel in a graph: {:.2f} us\n", peaks.launch_floor_us->value);
  if (!peaks.date.empty()) out += fmt::format("  measured: {}\n", peaks.date);
  return out;
}

std::string device_text(const Listed& each, std::size_t number) {
  const DeviceInfo& info = each.info;
  std::string out = fmt::format(
      "cuda:{}: {}\n  usable: yes; {}, {} multiprocessors, {:.0f} GiB, {} MiB of L2, {} KiB of shared memory "
      "a block\n",
      number, info.name, info.arch, info.multiprocessors, static_cast<double>(info.memory_bytes) / (1 << 30),
      info.l2_bytes >> 20, info.dynamic_shared_bytes >> 10);
  if (each.peaks) return out + peaks_text(*each.peaks);
  return out + "  peaks: unknown; `autokernel devices --measure` measures them\n";
}

}  // namespace

Result<int> run_devices(Session& session, const DevicesOptions& options) {
  const DeviceInfo cpu = cpu::describe_cpu(std::max(1U, std::thread::hardware_concurrency()));
  AK_TRY(table, roofline::GpuTable::embedded());
  std::vector<Listed> gpus;
  std::string why;
  Result<std::vector<DeviceInfo>> found = cuda::list_devices();
  if (!found) why = found.error().message;
  if (options.measure && !found) return tl::unexpected(std::move(found).error());
  if (found) {
    for (std::size_t i = 0; i < found->size(); ++i) {
      if (options.measure) AK_TRY_VOID(measure(session, static_cast<int>(i)));
      gpus.push_back({(*found)[i], known_peaks(session, table, (*found)[i])});
    }
  }
  if (session.options().json) {
    Json list = Json::array({to_json(cpu)});
    for (const Listed& each : gpus) {
      Json device = to_json(each.info);
      device["peaks"] = each.peaks ? to_json(*each.peaks) : Json();
      list.push_back(std::move(device));
    }
    session.print_json({{"schema", 1}, {"devices", std::move(list)}});
    return 0;
  }
  std::string out = fmt::format(
      "cpu: {}\n  usable: yes; up to {} threads a block, {} KiB static and {} KiB dynamic shared memory; "
      "timings are CPU "
      "timings, caches warm\n",
      cpu.name, cpu.max_threads_per_block, cpu.static_shared_bytes / 1024, cpu.dynamic_shared_bytes / 1024);
  for (std::size_t i = 0; i < gpus.size(); ++i) out += device_text(gpus[i], i);
  if (gpus.empty()) {
    out += fmt::format("cuda: {}\n  `autokernel compile FILE --arch sm_90a` compiles without a GPU\n",
                       why.empty() ? "no GPU" : why);
  }
  session.print(out);
  return 0;
}

}  // namespace ak::cli
