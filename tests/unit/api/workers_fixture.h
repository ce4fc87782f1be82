#pragma once
// One evaluator for all tests of a suite, with workers of the binary that was built.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "autokernel/kernel_generator.h"
#include "autokernel/performance_evaluator.h"

namespace ak::test {

inline Result<PerformanceEvaluator> start_evaluator() {
  ::setenv("AUTOKERNEL_BIN", AK_BINARY, 1);
  return PerformanceEvaluator::create({});
}

/// A softmax template, one block a row: its result is multiplied by `factor` (wrong unless 1), and it takes
/// the sum `repeat` times.
inline GeneratorOptions softmax_template(std::vector<ParameterValue> factor,
                                         std::vector<ParameterValue> repeat = {1}) {
  GeneratorOptions options;
  options.op = "softmax";
  options.problem = "ROWS=32,COLS=128";
  options.text =
      R"(extern "C" __global__ void softmax(const scalar_t* x, const scalar_t* mask, scalar_t* y, int COLS,
                                     float scale) {
  const long long row = (long long)blockIdx.x * COLS;
#if HAS_MASK
#define LOGIT(i) (scale * x[row + (i)] + mask[(MASK_ROWS ? row : 0) + (i)])
#else
#define LOGIT(i) (scale * x[row + (i)])
#endif
  float highest = LOGIT(0), sum = 0;
  for (int i = 1; i < COLS; ++i) highest = fmaxf(highest, LOGIT(i));
  for (int again = 0; again < {repeat}; ++again) {
    sum *= 0;
    for (int i = 0; i < COLS; ++i) sum += expf(LOGIT(i) - highest);
  }
  for (int i = 0; i < COLS; ++i) y[row + i] = {factor} * expf(LOGIT(i) - highest) / sum;
}
)";
  options.launch = {"softmax", {"ROWS"}, {"1"}, {"x", "mask", "y", "COLS", "scale"}};
  options.parameters = {{"factor", std::move(factor)}, {"repeat", std::move(repeat)}};
  return options;
}

inline std::vector<KernelCandidate> candidates_of(const GeneratorOptions& options) {
  auto generator = KernelGenerator::create(options);
  EXPECT_TRUE(generator) << generator.error().message;
  if (!generator) return {};
  auto generated = generator->generate();
  EXPECT_TRUE(generated) << generated.error().message;
  return generated ? std::move(generated->candidates) : std::vector<KernelCandidate>();
}

}  // namespace ak::test
