#include "row_oracles.h"

#include <algorithm>
#include <cmath>

#include "reference_bench.h"

namespace ak::op::testing {
namespace {

using Real = long double;

std::vector<Real> row_of(const std::vector<double>& values, std::int64_t row, std::int64_t columns) {
  return {values.begin() + row * columns, values.begin() + (row + 1) * columns};
}

Real sum_of(const std::vector<Real>& values) {
  Real sum = 0;
  for (Real value : values) sum += value;
  return sum;
}

}  // namespace

LongArrays reduce(const Problem& problem, const Inputs& in) {
  const std::int64_t columns = problem.dims.at("COLS");
  LongArrays out;
  for (std::int64_t row = 0; row < problem.dims.at("ROWS"); ++row) {
    std::vector<Real> terms = row_of(in.at("x"), row, columns);
    out["y_r"].push_back(sum_of(terms));
    for (Real& term : terms) term = std::fabs(term);
    out["y_S"].push_back(std::sqrt(Real(columns)) * sum_of(terms));
  }
  return out;
}

LongArrays layernorm(const Problem& problem, const Inputs& in) {
  const std::int64_t columns = problem.dims.at("N");
  const auto eps = static_cast<Real>(static_cast<float>(problem.scalars.at("eps")));
  LongArrays out;
  for (std::int64_t row = 0; row < problem.dims.at("M"); ++row) {
    std::vector<Real> source = row_of(in.at("x"), row, columns);
    for (std::int64_t i = 0; problem.has_tensor("residual") && i < columns; ++i) {
      const Real x = source[i], residual = in.at("residual")[row * columns + i];
      // In fp32, then in the tensor's type, as everyone computes it.
      source[i] = rounded(static_cast<float>(x) + static_cast<float>(residual), problem.dtype);
      out["stream_r"].push_back(x + residual);
      out["stream_S"].push_back(std::fabs(x + residual));
      out["stream_I0"].push_back(0);
    }
    const Real mean = sum_of(source) / columns;
    Real size_of_terms = 0;
    for (Real value : source) size_of_terms += std::fabs(value) / columns;
    std::vector<Real> squares;
    for (Real value : source) squares.push_back((value - mean) * (value - mean));
    const Real deviation = std::sqrt(sum_of(squares) / columns + eps);
    for (std::int64_t i = 0; i < columns; ++i) {
      const Real weight = in.at("weight")[i], bias = in.at("bias")[i],
                 scaled = (source[i] - mean) / deviation * weight;
      const Real size = (size_of_terms + std::fabs(source[i] - mean)) / deviation * std::fabs(weight);
      out["y_r"].push_back(scaled + bias);
      out["y_S"].push_back(std::sqrt(Real(columns)) * (size + std::fabs(bias)));
      out["y_I0"].push_back(std::fabs(scaled));
    }
  }
  return out;
}

LongArrays cross_entropy(const Problem& problem, const Inputs& in) {
  const std::int64_t rows = problem.dims.at("ROWS"), columns = problem.dims.at("V");
  LongArrays each;
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto target = static_cast<std::int64_t>(in.at("targets")[row]);
    Real r = 0, size = 0;
    if (target != static_cast<std::int64_t>(problem.scalars.at("IGNORE"))) {
      const std::vector<Real> x = row_of(in.at("logits"), row, columns);
      const Real m = *std::max_element(x.begin(), x.end());
      Real sum = 0, spread = 0;
      for (Real value : x) sum += std::exp(value - m);
      for (Real value : x) spread += std::exp(value - m) / sum * std::fabs(value - m);
      r = m + std::log(sum) - x[target];
      size = std::fabs(m + std::log(sum)) + std::fabs(x[target]) + spread + std::sqrt(Real(columns));
      ++count;
    }
    each["loss_r"].push_back(r);
    each["loss_S"].push_back(size);
  }
  const std::int64_t reduction = problem.flags.at("REDUCTION");
  if (reduction == 0) return each;
  const Real divisor = reduction == 1 ? count : 1;
  // No loss is negative: their sum is that of their absolute values.
  const Real sum = sum_of(each["loss_r"]), size = sum_of(each["loss_S"]) + std::sqrt(Real(count)) * sum;
  return {{"loss_r", {sum / divisor}}, {"loss_S", {count > 0 ? size / divisor : 0}}};
}

LongArrays rotary_embedding(const Problem& problem, const Inputs& in) {
  const auto dim = [&](const char* name) { return problem.dims.at(name); };
  const std::int64_t half = dim("D") / 2, rows = dim("B") * dim("H") * dim("S");
  const bool pairs = problem.flags.at("INTERLEAVED") != 0, own_tables = problem.flags.at("COS_BATCH") != 0;
  LongArrays out;
  for (const char* array : {"y_r", "y_S"}) out[array].resize(static_cast<std::size_t>(rows * dim("D")));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t s = row % dim("S"), b = row / dim("S") / dim("H");
    for (std::int64_t k = 0; k < half; ++k) {
      const std::int64_t first = row * dim("D") + (pairs ? 2 * k : k),
                         second = pairs ? first + 1 : first + half;
      const std::int64_t table = ((own_tables ? b : 0) * dim("S") + s) * half + k;
      const Real cosine = in.at("cos")[table], sine = in.at("sin")[table];
      const Real x1 = in.at("x")[first], x2 = in.at("x")[second];
      out["y_r"][first] = x1 * cosine - x2 * sine;
      out["y_r"][second] = x2 * cosine + x1 * sine;
      out["y_S"][first] = std::fabs(x1 * cosine) + std::fabs(x2 * sine);
      out["y_S"][second] = std::fabs(x2 * cosine) + std::fabs(x1 * sine);
    }
  }
  return out;
}

}  // namespace ak::op::testing
