#include "records.h"

#include <limits>

namespace ak::testing {

DeviceInfo device_sample() {
  DeviceInfo info;
  info.kind = "cuda";
  info.name = "NVIDIA H200";
  info.uuid = "GPU-1";
  info.arch = "sm_90a";
  info.multiprocessors = 132;
  info.max_block = {1024, 512, 64};
  info.max_grid = {2147483647, 65535, 65534};
  info.dynamic_shared_bytes = 227 * 1024;
  info.shared_bytes_per_multiprocessor = 228 * 1024;
  info.l2_bytes = 60u << 20;
  info.memory_bytes = 150'754'820'096;
  info.clusters = info.tensor_maps = info.cold_cache = true;
  info.natural_block = 256;
  return info;
}

Timing timing_sample() {
  Timing timing;
  timing.problem_id = "p0";
  timing.size = "sweep 32x128";
  timing.problem = {.op = "rmsnorm",
                    .dims = {{"M", 32}, {"N", 128}},
                    .flags = {{"CAUSAL", 2}},
                    .scalars = {{"eps", 1e-6}},
                    .dtype = DType::kF16,
                    .strides = {{"x", {256, 1}}},
                    .has = {"weight"}};
  timing.time = {10, 9.5, 10.25};
  timing.cold_us = 12.5;
  timing.l2 = CacheState::kCold;
  timing.floor_us = 4;
  timing.gbps = 100;
  timing.tflops = 0.5;
  timing.peak_gbps = 4800;
  timing.peak_tflops = 900;
  timing.footprint_bytes = 1e6;
  timing.baseline_us = 20;
  timing.versus = Comparison{1.5, 1.4, 1.6, {15, 14, 16}};
  timing.rounds_us = {10, 9.5, std::numeric_limits<double>::infinity()};
  timing.incumbent_rounds_us = {15, 14};
  return timing;
}

Verdict verdict_sample() {
  Verdict verdict;
  verdict.passed = false;
  verdict.stages = {{"smoke", "PASS"}, {"shape_sweep", "FAIL"}, {"determinism", "SKIP (failed before)"}};
  verdict.failure = Failure{Stage::kShapeSweep, FailureKind::kWrong, "numeric", "element 3 is wrong"};
  verdict.flags = {"reads %clock"};
  verdict.timings = {timing_sample()};
  verdict.sandboxed = false;
  verdict.selftest = true;
  verdict.worst_error = std::numeric_limits<double>::infinity();
  verdict.peak_memory_bytes = 1'000'000'007;
  verdict.compile_s = 0.25;
  verdict.wall_s = 1.5;
  verdict.device = device_sample();
  return verdict;
}

Trial trial_sample() {
  Trial trial;
  trial.id = 7;
  trial.experiment = 3;
  trial.problem_id = "p0";
  trial.config = {{{"VEC", std::int64_t{4}}, {"FAST", false}}};
  trial.passed = true;
  trial.failure = verdict_sample().failure;
  trial.time = TimeEstimate{1, 0.5, 1.5};
  trial.versus = timing_sample().versus;
  trial.peak_memory_bytes = 4096;
  trial.gbps = 3;
  trial.tflops = 0.125;
  trial.compile_s = 0.25;
  trial.wall_s = 2;
  trial.recorded_at = "2026-11-30T17:58:34Z";
  return trial;
}

Experiment experiment_sample() {
  Experiment experiment;
  experiment.id = 3;
  experiment.target = "rmsnorm-1";
  experiment.tag = "nov";
  experiment.proposer = "tune:annealing";
  experiment.description = "wider loads";
  experiment.kernel_hash = "abc";
  experiment.commit = "def";
  experiment.decision = Decision::kKept;
  experiment.best_config = trial_sample().config;
  experiment.objective_us = 12.5;
  experiment.confirmation = timing_sample().versus;
  experiment.started_at = "2026-11-30T17:58:34Z";
  experiment.ended_at = "2026-11-30T17:59:34Z";
  experiment.seed = std::numeric_limits<std::uint64_t>::max();
  return experiment;
}

}  // namespace ak::testing
