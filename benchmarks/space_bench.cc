// Spaces of configs. Goal: a million raw configs generated and filtered in <= 0.5 s (Release, one core).
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "autokernel/kernel/space.h"

namespace {

using namespace ak;

/// Six tunables of ten values: 10^6 raw configs, as a tiled matmul has them.
kernel::KernelFile matmul_file(std::string_view where) {
  std::string text = "/* autokernel\ndtypes = [\"f32\"]\n[tunables]\n";
  std::string defaults = "[defaults]\n";
  for (const char* name : {"TILE_M", "TILE_N", "TILE_K", "THREAD_M", "THREAD_N", "STAGES"}) {
    text += std::string(name) + " = [1, 2, 4, 8, 12, 16, 24, 32, 64, 128]\n";
    defaults += std::string(name) + " = 8\n";
  }
  text += "[constraints]\nwhere = [" + std::string(where) + "]\nneeds = [\"N % TILE_N == 0\"]\n" + defaults +
          "[[launch]]\nentry = \"f\"\ngrid = [\"ceil_div(M, TILE_M)\", \"ceil_div(N, TILE_N)\"]\n"
          "block = [\"ceil_div(TILE_N, THREAD_N)\", \"ceil_div(TILE_M, THREAD_M)\"]\n"
          "shared_bytes = \"elem_bytes * STAGES * TILE_K * (TILE_M + TILE_N)\"\nargs = []\n*/ f";
  Result<kernel::KernelFile> file = kernel::parse(text, "bench.cu");
  AK_CHECK(file.has_value());
  return std::move(*file);
}

Problem sample() {
  return {.op = "matmul",
          .dims = {{"M", 4096}, {"N", 6144}},
          .flags = {},
          .scalars = {},
          .dtype = DType::kF32,
          .strides = {},
          .has = {}};
}

constexpr std::string_view kPruning =
    "\"TILE_M % THREAD_M == 0\", \"TILE_N % THREAD_N == 0\", \"THREAD_M * THREAD_N <= 64\"";
/// Asked for nearly every config: one rule over all six tunables.
constexpr std::string_view kLate = "\"TILE_M + TILE_N + TILE_K + THREAD_M + THREAD_N + STAGES != 7\"";

void create(benchmark::State& state, std::string_view where, std::size_t problem_count) {
  const kernel::KernelFile file = matmul_file(where);
  const DeviceInfo device;
  std::vector<Problem> problems(problem_count, sample());
  for (std::size_t i = 0; i < problem_count; ++i) problems[i].dims["N"] += 16 * static_cast<std::int64_t>(i);
  std::size_t size = 0;
  for (auto unused : state) {
    const auto space = kernel::Space::create(file, device, problems);
    AK_CHECK(space.has_value());
    size = space->size();
  }
  state.counters["raw"] = 1e6;
  state.counters["valid"] = static_cast<double>(size);
}

void heuristic_order(benchmark::State& state) {
  const kernel::KernelFile file = matmul_file(kPruning);
  const std::vector<Problem> problems = {sample()};
  const DeviceInfo device;
  const auto space = kernel::Space::create(file, device, problems);
  for (auto unused : state) benchmark::DoNotOptimize(space->heuristic_order(file, device, problems[0]));
  state.counters["valid"] = static_cast<double>(space->size());
}

void neighbours(benchmark::State& state) {
  const kernel::KernelFile file = matmul_file(kPruning);
  const std::vector<Problem> problems = {sample()};
  const auto space = kernel::Space::create(file, DeviceInfo{}, problems);
  Rng rng(1);
  for (auto unused : state) {
    benchmark::DoNotOptimize(space->neighbours(space->sample(rng), kernel::Space::Neighbourhood::kHamming));
  }
}

void nearest(benchmark::State& state) {
  const kernel::KernelFile file = matmul_file(kPruning);
  const std::vector<Problem> problems = {sample()};
  const auto space = kernel::Space::create(file, DeviceInfo{}, problems);
  Rng rng(1);
  std::vector<double> target(6);
  for (auto unused : state) {
    for (double& it : target) it = 10 * rng.uniform();
    benchmark::DoNotOptimize(space->nearest(target, {}));
  }
}

BENCHMARK_CAPTURE(create, pruned, kPruning, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(create, unconstrained, "", 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(create, late_rule, kLate, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(create, eight_problems, kPruning, 8)->Unit(benchmark::kMillisecond);
BENCHMARK(heuristic_order)->Unit(benchmark::kMillisecond);
BENCHMARK(neighbours)->Unit(benchmark::kMicrosecond);
BENCHMARK(nearest)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
