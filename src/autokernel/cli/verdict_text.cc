#include "autokernel/cli/verdict_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/text_table.h"

namespace ak::cli {
namespace {

constexpr Stage kStages[] = {
    Stage::kCompile,     Stage::kAudit,     Stage::kSmoke,     Stage::kShapeSweep, Stage::kNumericalStability,
    Stage::kDeterminism, Stage::kEdgeCases, Stage::kIntegrity, Stage::kTime,       Stage::kPlausibility};

double percent(double value, double peak) { return peak > 0 ? 100 * value / peak : 0; }

/// The problem with the most work: what the single-number lines are about.
const Timing* largest(const Verdict& verdict) {
  auto it =
      std::max_element(verdict.timings.begin(), verdict.timings.end(),
                       [](const Timing& a, const Timing& b) { return a.time.median_us < b.time.median_us; });
  return it == verdict.timings.end() ? nullptr : &*it;
}

std::string bottleneck(const Timing& timing) {
  if (timing.peak_gbps <= 0 || timing.peak_tflops <= 0) return "unknown";
  return timing.gbps / timing.peak_gbps >= timing.tflops / timing.peak_tflops ? "memory" : "compute";
}

std::string speedup(const Timing& timing) {
  return timing.baseline_us
             ? fmt::format("{:.3f}x ({})", *timing.baseline_us / timing.time.median_us, timing.baseline)
             : "n/a";
}

std::string timings_table(const Verdict& verdict) {
  using Align = TextTable::Align;
  TextTable table({"size", "time", "95 % CI", "GB/s", "TFLOP/s", "floor", "of floor"},
                  {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
                   Align::kRight});
  for (const Timing& timing : verdict.timings) {
    table.add_row(
        {timing.size, format_us(timing.time.median_us),
         fmt::format("{:.2f}..{:.2f}", timing.time.ci_low_us, timing.time.ci_high_us),
         fmt::format("{:.2f}", timing.gbps), fmt::format("{:.3g}", timing.tflops),
         timing.floor_us ? format_us(*timing.floor_us) : "-",
         timing.floor_us ? fmt::format("{:.0f} %", 100 * *timing.floor_us / timing.time.median_us) : "-"});
  }
  return table.plain();
}

Json timing_json(const Timing& timing) {
  Json json = {{"id", timing.problem_id},
               {"size", timing.size},
               {"dims", timing.problem.dims},
               {"flags", timing.problem.flags},
               {"dtype", std::string(name(timing.problem.dtype))},
               {"time_us", to_json(timing.time)},
               {"cold_us", nullptr},
               {"l2", timing.l2 == CacheState::kCold ? "cold" : "warm"},
               {"floor_us", nullptr},
               {"gbps", timing.gbps},
               {"tflops", timing.tflops},
               {"peak_gbps", timing.peak_gbps},
               {"peak_tflops", timing.peak_tflops},
               {"rounds", timing.rounds_us.size()},
               {"speedup_vs_pytorch", nullptr},
               {"baseline", timing.baseline}};
  if (timing.cold_us) json["cold_us"] = *timing.cold_us;
  if (timing.floor_us) json["floor_us"] = *timing.floor_us;
  if (timing.baseline_us) json["speedup_vs_pytorch"] = *timing.baseline_us / timing.time.median_us;
  if (timing.versus) {
    json["versus"] = {{"ratio", timing.versus->ratio},
                      {"ci_low", timing.versus->ci_low},
                      {"ci_high", timing.versus->ci_high},
                      {"incumbent_us", timing.versus->incumbent.median_us}};
  }
  return json;
}

}  // namespace

std::string where_explained(const Failure& failure) {
  return fmt::format("autokernel explain {}",
                     failure.check == "fault" ? std::string(name(failure.kind)) : failure.check);
}

std::string format_us(double us) {
  if (us >= 1e6) return fmt::format("{:.3f} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.3f} ms", us / 1e3);
  return fmt::format("{:.2f} us", us);
}

std::string bench_text(const Verdict& verdict, const kernel::KernelFile& file, const Config& config,
                       double wall_s) {
  std::string out =
      fmt::format("kernel: {}\nop: {}\nconfig: {}\ndevice: {} ({}{})\n", file.name, file.op,
                  config.values.empty() ? "-" : config.to_string(), verdict.device.name, verdict.device.kind,
                  verdict.device.kind == "cpu" ? ": CPU timings, caches warm" : "");
  for (Stage stage : kStages) {
    auto it = verdict.stages.find(std::string(name(stage)));
    if (it != verdict.stages.end()) out += fmt::format("{}: {}\n", name(stage), it->second);
  }
  out += fmt::format("correctness: {}\n", verdict.passed ? "PASS" : "FAIL");
  if (verdict.failure) {
    out += fmt::format("failure_stage: {}\nfailure_kind: {}\nfailure_check: {}\nfailure: {}\nsee: {}\n",
                       name(verdict.failure->stage), name(verdict.failure->kind), verdict.failure->check,
                       verdict.failure->message, where_explained(*verdict.failure));
  }
  for (const std::string& flag : verdict.flags) out += fmt::format("note: {}\n", flag);
  if (!verdict.sandboxed) out += "note: compiled WITHOUT a sandbox (--unsafe-no-sandbox)\n";
  if (const Timing* timing = largest(verdict); timing != nullptr) {
    out += "\n" + timings_table(verdict) + "\n";
    out +=
        fmt::format("timed_size: {}\nthroughput_tflops: {:.4g}\nbandwidth_gbps: {:.2f}\nlatency_us: {:.3f}\n",
                    timing->size, timing->tflops, timing->gbps, timing->time.median_us);
    out += fmt::format(
        "pct_peak_compute: {:.1f}\npct_peak_bandwidth: {:.1f}\nbottleneck: {}\nspeedup_vs_pytorch: {}\n",
        percent(timing->tflops, timing->peak_tflops), percent(timing->gbps, timing->peak_gbps),
        bottleneck(*timing), speedup(*timing));
    out += fmt::format("peaks: {:.2f} GB/s, {:.3f} TFLOP/s {}, measured on this device\n", timing->peak_gbps,
                       timing->peak_tflops, name(timing->problem.dtype));
  }
  if (verdict.passed) out += fmt::format("worst_error: {:.3g} of the tolerance\n", verdict.worst_error);
  out += fmt::format("peak_vram_mb: {:.1f}\ncompile_s: {:.3f}\nwall_s: {:.3f}\n",
                     static_cast<double>(verdict.peak_memory_bytes) / 1e6, verdict.compile_s, wall_s);
  return out;
}

Json bench_json(const Verdict& verdict, const std::string& kernel, const Config& config, double wall_s) {
  Json timings = Json::array();
  for (const Timing& timing : verdict.timings) timings.push_back(timing_json(timing));
  return {{"schema", 1},
          {"kernel", kernel},
          {"config", to_json(config)},
          {"correctness", verdict.passed ? "PASS" : "FAIL"},
          {"stages", verdict.stages},
          {"stage_s", verdict.stage_s},
          {"failure", verdict.failure ? to_json(*verdict.failure) : Json(nullptr)},
          {"flags", verdict.flags},
          {"sandbox", verdict.sandboxed ? "on" : "off"},
          {"timings", std::move(timings)},
          {"worst_error", json_finite(verdict.worst_error)},
          {"compile_s", verdict.compile_s},
          {"peak_memory_bytes", verdict.peak_memory_bytes},
          {"device", {{"kind", verdict.device.kind}, {"name", verdict.device.name}}},
          {"wall_s", wall_s}};
}

std::string compare_text(const Verdict& verdict, const std::string& incumbent, const std::string& candidate) {
  if (!verdict.passed) {
    return fmt::format("correctness: FAIL\nfailure_kind: {}\nfailure_check: {}\nfailure: {}\nsee: {}\n",
                       verdict.failure ? name(verdict.failure->kind) : "unknown",
                       verdict.failure ? verdict.failure->check : "",
                       verdict.failure ? verdict.failure->message : "",
                       verdict.failure ? where_explained(*verdict.failure) : "");
  }
  using Align = TextTable::Align;
  TextTable table({"size", "A", "B", "A / B", "95 % CI"},
                  {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const Timing& timing : verdict.timings) {
    if (!timing.versus) continue;
    table.add_row({timing.size, format_us(timing.versus->incumbent.median_us),
                   format_us(timing.time.median_us), fmt::format("{:.3f}x", timing.versus->ratio),
                   fmt::format("{:.3f}..{:.3f}", timing.versus->ci_low, timing.versus->ci_high)});
  }
  return fmt::format("A: {}\nB: {}\ncorrectness: PASS\ndevice: {} ({})\n\n{}", incumbent, candidate,
                     verdict.device.name, verdict.device.kind, table.plain()) +
         "\nnote: A / B is the median of the ratios of paired rounds, free of clock drift; the quotient of "
         "the two "
         "medians beside it may differ\n";
}

}  // namespace ak::cli
