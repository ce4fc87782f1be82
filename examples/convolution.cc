// The four steps on a convolution template: generate, evaluate, optimize, take the best.
#include <autokernel/autokernel.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

template <class T>
T value_or_exit(ak::Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(3);
}

int main() {
  // 1. Generate: one candidate for each block size, 64 x 64 threads being more than a block can have.
  auto generator = value_or_exit(ak::KernelGenerator::create({.architecture = "cpu",
                                                              .kernel_file = "conv2d/kernels/naive.cu",
                                                              .problem = "H=64,W=64,R=3,S=3,PAD_H=1,PAD_W=1",
                                                              .parameters = {{"block_size", {16, 32, 64}}}}));
  ak::Generated generated = value_or_exit(generator.generate());
  for (const ak::InvalidCandidate& each : generated.invalid) {
    std::printf("invalid: block_size=%lld: %s\n",
                static_cast<long long>(std::get<std::int64_t>(each.parameters.at("block_size"))),
                each.reason.c_str());
  }
  // 2. Evaluate: compiled, checked and timed in worker processes.
  auto evaluator = value_or_exit(ak::PerformanceEvaluator::create({}));
  // 3. Optimize, here with differential evolution and the default objective, the execution time.
  ak::KernelOptimizer optimizer(evaluator, {.strategy = "differential-evolution", .budget = 10});
  ak::OptimizationResult result = value_or_exit(optimizer.optimize(generated.candidates));
  // 4. The best candidate, with its full verdict, and where each number comes from.
  if (!result.best) return 1;
  const ak::Metrics& metrics = result.best->metrics;
  std::printf("best: %s\n", result.best->candidate.description().c_str());
  std::printf("verified: %s\n", result.best->depth == ak::Evaluation::Depth::kFull ? "yes" : "no");
  std::printf("execution_time: %.3g s (%s)\n", metrics.execution_time.value,
              metrics.execution_time.source.c_str());
  std::printf("memory_usage: %.0f bytes (%s)\n", metrics.memory_usage.value,
              metrics.memory_usage.source.c_str());
  std::printf("gpu_utilization: %.2f %% (%s)\n", metrics.gpu_utilization.value,
              metrics.gpu_utilization.source.c_str());
}
