#include "autokernel/api/metrics_of.h"

#include <algorithm>
#include <limits>

#include "autokernel/harness/signature.h"
#include "autokernel/kernel/launch.h"

namespace ak::api {
namespace {

Metric execution_time(const MetricsInput& input) {
  const DeviceInfo& device = input.device;
  std::string caches = input.timing.l2 == CacheState::kCold ? "cache cold" : "caches warm";
  return {input.execution_us / 1e6,
          fmt::format("measured: median of {} rounds on {} ({} timings, {}){}{}",
                      input.timing.rounds_us.size(), device.name, device.kind == "cpu" ? "CPU" : "device",
                      caches, input.remark.empty() ? "" : "; ", input.remark)};
}

Result<Metric> memory_usage(const KernelCandidate::Data& candidate, const DeviceInfo& device) {
  const CandidateOrigin& origin = *candidate.origin;
  AK_TRY(family, origin.registry.find(origin.target.op));
  std::vector<const op::TensorSpec*> present = family->inputs(origin.problem());
  for (const op::TensorSpec* each : family->outputs(origin.problem())) {
    if (each->role == op::TensorRole::kOut) present.push_back(each);  // in-out ones are among the inputs
  }
  double bytes = 0;
  for (const op::TensorSpec* each : present) {
    AK_TRY(count, op::element_count(*family, *each, origin.problem()));
    bytes +=
        static_cast<double>(count) * static_cast<double>(size_bytes(op::dtype_of(*each, origin.problem())));
  }
  AK_TRY(plan, kernel::make_plan(origin.file, candidate.config, origin.problem(),
                                 harness::signature_of(*family), device));
  for (const WorkspacePlan& each : plan.workspaces) bytes += static_cast<double>(each.bytes);
  return Metric{bytes, fmt::format("derived: {} tensors and {} workspaces of one execution", present.size(),
                                   plan.workspaces.size())};
}

Result<Metric> utilization(const MetricsInput& input) {
  if (input.peaks.gbps <= 0 || input.peaks.tflops <= 0) {
    return Metric{std::numeric_limits<double>::quiet_NaN(),
                  "not available: the device's limits were not measured"};
  }
  const CandidateOrigin& origin = *input.candidate.origin;
  AK_TRY(family, origin.registry.find(origin.target.op));
  AK_TRY(bytes, op::compulsory_bytes(*family, origin.problem()));
  AK_TRY(flops, op::useful_flops(*family, origin.problem()));
  double gbps = bytes / input.execution_us / 1e3, tflops = flops / input.execution_us / 1e6;
  double memory = gbps / input.peaks.gbps, compute = tflops / input.peaks.tflops;
  std::string source =
      memory >= compute
          ? fmt::format(
                "derived: {:.3g} GB/s (compulsory bytes / execution time) of the {:.3g} GB/s measured here",
                gbps, input.peaks.gbps)
          : fmt::format(
                "derived: {:.3g} TFLOP/s (useful flops / execution time) of the {:.3g} TFLOP/s measured here",
                tflops, input.peaks.tflops);
  return Metric{100 * std::max(memory, compute), std::move(source)};
}

}  // namespace

Result<Metrics> metrics_of(const MetricsInput& input) {
  AK_TRY(memory, memory_usage(input.candidate, input.device));
  AK_TRY(used, utilization(input));
  return Metrics{execution_time(input), std::move(memory), std::move(used)};
}

}  // namespace ak::api
