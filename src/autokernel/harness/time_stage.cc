#include <algorithm>
#include <cmath>

#include "autokernel/harness/peaks.h"
#include "autokernel/harness/pipeline.h"
#include "autokernel/roofline/floor.h"
#include "autokernel/stats/paired.h"
#include "autokernel/stats/summary.h"

namespace ak::harness {
namespace {

constexpr double kImpossible = 0.97;  ///< of the floor; DESIGN section 6
constexpr int kAsksBeforeImpossible = 4;
constexpr double kNotedGain = 0.05;  // of time.cold: smaller ones are noise of five single launches
constexpr double kSharedGain =
    0.25;  // a gain in one kind of timing shows at least so much of it in the other
// A copy of less is mostly its own launch: 8 KiB at 11 GB/s on a CPU whose caches give 5 times that, which
// made an honest kernel of one thread "impossible". What fits a smaller footprint is no slower than this one.
constexpr std::uint64_t kWorthACopy = std::uint64_t{1} << 20;

/// time.cold: the candidate beats the incumbent in rotating rounds or in single cold launches, but not in
/// both.
std::optional<std::string> one_sided_gain(const Timing& timing, const TimedRounds& rounds) {
  if (!timing.versus || rounds.cold_us.empty() || rounds.incumbent_cold_us.empty()) return std::nullopt;
  const double rotated = timing.versus->ratio - 1;
  const double cold = stats::median(rounds.incumbent_cold_us) / stats::median(rounds.cold_us) - 1;
  const double gain = std::max(rotated, cold), other = std::min(rotated, cold);
  if (gain < kNotedGain || other > kSharedGain * gain) return std::nullopt;
  return fmt::format(
      "{}: {:+.1f} % in rotating rounds, {:+.1f} % in single launches with a cold cache: the "
      "gain depends on what the caches hold",
      timing.size, 100 * rotated, 100 * cold);
}

}  // namespace

Outcome Pipeline::time() {
  const op::Draw& draw = *draws_of(context_.family, Stage::kTime).front();
  for (const TargetProblem& each : job_.target.problems) {
    if (each.role != Role::kPrimary) continue;
    AK_TRY(failure, time_problem(each, draw));
    if (failure) return std::optional(std::move(*failure));
  }
  if (verdict_.timings.empty()) skip(Stage::kTime, "the target has no primary problem");
  return std::optional<Failure>();
}

Outcome Pipeline::time_problem(const TargetProblem& target_problem, const op::Draw& draw) {
  const Problem& problem = target_problem.problem;
  AK_TRY(prepared, candidate_->prepare(problem, Build::kTimed));
  if (auto* failure = std::get_if<Failure>(&prepared)) return std::optional(std::move(*failure));
  TimeRequest request{problem, draw, std::get<Prepared>(prepared), nullptr, job_.time_budget_s};
  std::variant<Prepared, Failure> other = Failure{};
  if (incumbent_) {
    AK_TRY(ready, incumbent_->prepare(problem, Build::kTimed));
    other = std::move(ready);
    request.incumbent = std::get_if<Prepared>(&other);
    if (request.incumbent == nullptr) {
      verdict_.flags.push_back(fmt::format("the incumbent cannot run {}: timed alone", problem.label()));
    }
  }
  AK_TRY(timed, time_candidate(context_, references_, request));
  if (incumbent_) incumbent_->unload();
  if (auto* failure = std::get_if<Failure>(&timed)) return std::optional(std::move(*failure));
  const auto& rounds = std::get<TimedRounds>(timed);
  verdict_.flags.insert(verdict_.flags.end(), rounds.flags.begin(), rounds.flags.end());
  AK_TRY(timing, make_timing(target_problem, rounds));
  if (context_.checks.on("time.cold")) {
    if (auto flag = one_sided_gain(timing, rounds)) verdict_.flags.push_back(std::move(*flag));
  }
  AK_TRY_VOID(measure_floor(timing, rounds.execution_bytes, rounds.sets));
  verdict_.timings.push_back(std::move(timing));
  return std::optional<Failure>();
}

Result<Timing> Pipeline::make_timing(const TargetProblem& target_problem, const TimedRounds& rounds) {
  const Problem& problem = target_problem.problem;
  Timing timing;
  timing.problem_id = target_problem.id;
  timing.size = problem.label();
  timing.problem = problem;
  const bool beyond_cache = rounds.footprint_bytes >= 4 * context_.device.info().l2_bytes;
  timing.l2 = context_.device.info().cold_cache && beyond_cache ? CacheState::kCold : CacheState::kWarm;
  if (!rounds.cold_us.empty()) timing.cold_us = stats::median(rounds.cold_us);
  timing.footprint_bytes = static_cast<double>(rounds.footprint_bytes);
  timing.rounds_us = rounds.candidate_us;
  timing.incumbent_rounds_us = rounds.incumbent_us;
  AK_TRY(time, stats::bootstrap_ci(rounds.candidate_us, {}, context_.seeds));
  timing.time = time;
  AK_TRY(bytes, op::compulsory_bytes(context_.family, problem));
  AK_TRY(flops, op::useful_flops(context_.family, problem));
  timing.gbps = bytes / time.median_us / 1e3;
  timing.tflops = flops / time.median_us / 1e6;
  if (!rounds.incumbent_us.empty()) {
    AK_TRY(ratio, stats::paired_ratio(rounds.incumbent_us, rounds.candidate_us, {}, context_.seeds));
    AK_TRY(incumbent, stats::bootstrap_ci(rounds.incumbent_us, {}, context_.seeds));
    timing.versus = Comparison{ratio.ratio, ratio.ci_low, ratio.ci_high, incumbent};
  }
  return timing;
}

Status Pipeline::measure_floor(Timing& timing, std::uint64_t execution_bytes, std::size_t sets) {
  if (job_.depth == Depth::kTrial)
    return {};  // a sweep's trials are judged against each other; the winner here
  if (context_.peaks != nullptr) return floor_of_peaks(timing, *context_.peaks);
  AK_TRY(bandwidth, measure_bandwidth(context_, execution_bytes, sets));
  AK_TRY(tflops, measure_multiply_add_tflops(context_));
  timing.peak_gbps = bandwidth.best();
  if (execution_bytes < kWorthACopy) {
    AK_TRY(larger, measure_bandwidth(context_, kWorthACopy, sets));
    timing.peak_gbps = std::max(timing.peak_gbps, larger.best());
  }
  timing.peak_tflops = tflops;
  AK_TRY(bytes, op::compulsory_bytes(context_.family, timing.problem));
  AK_TRY(flops, op::useful_flops(context_.family, timing.problem));
  timing.floor_us = std::max(bytes / timing.peak_gbps / 1e3, flops / timing.peak_tflops / 1e6);
  return {};
}

/// With peaks that were measured once for the device. A time that the caches had a part in has no floor.
Status Pipeline::floor_of_peaks(Timing& timing, const roofline::Peaks& peaks) {
  AK_TRY(bytes, op::compulsory_bytes(context_.family, timing.problem));
  AK_TRY(flops, op::useful_flops(context_.family, timing.problem));
  const std::optional<roofline::Floor> floor =
      roofline::floor_us({.bytes = bytes, .flops = flops, .footprint_bytes = timing.footprint_bytes},
                         timing.problem.dtype, peaks);
  if (!floor) return {};
  timing.peak_gbps = floor->peak_gbps;
  timing.peak_tflops = floor->peak_tflops.value_or(0);
  if (timing.l2 == CacheState::kCold) timing.floor_us = floor->us;
  return {};
}

Outcome Pipeline::plausibility() {
  if (!context_.checks.on("floor")) return std::optional<Failure>();
  for (Timing& timing : verdict_.timings) {
    if (!timing.floor_us || timing.time.median_us >= kImpossible * *timing.floor_us) continue;
    // The machine may have been busy while the peaks were measured: ask again before saying "impossible".
    for (int ask = 0; ask < kAsksBeforeImpossible && timing.time.median_us < kImpossible * *timing.floor_us;
         ++ask) {
      Timing again = timing;
      const std::size_t sets = context_.limits.fewest_sets;
      AK_TRY_VOID(measure_floor(again, static_cast<std::uint64_t>(timing.footprint_bytes) / sets, sets));
      *timing.floor_us = std::min(*timing.floor_us, *again.floor_us);
      timing.peak_gbps = std::max(timing.peak_gbps, again.peak_gbps);
      timing.peak_tflops = std::max(timing.peak_tflops, again.peak_tflops);
    }
    if (timing.time.median_us >= kImpossible * *timing.floor_us) continue;
    return std::optional(Failure{
        Stage::kPlausibility, FailureKind::kImplausible, "floor",
        fmt::format(
            "{}: {:.3g} us is below the floor of {:.3g} us (compulsory bytes at {:.4g} GB/s, flops at {:.3g} "
            "TFLOP/s, both measured here)",
            timing.size, timing.time.median_us, *timing.floor_us, timing.peak_gbps, timing.peak_tflops)});
  }
  return std::optional<Failure>();
}

}  // namespace ak::harness
