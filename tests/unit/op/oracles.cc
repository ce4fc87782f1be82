#include "oracles.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "reference_bench.h"
#include "row_oracles.h"

namespace ak::op::testing {
namespace {

using Real = long double;

Real activated(std::int64_t code, Real z) {
  const Real pi = std::acos(Real(-1));
  if (code == 1) return std::max(z, Real(0));
  if (code == 2)
    return z / 2 * (1 + std::tanh(std::sqrt(2 / pi) * (z + Real(0.044715) * std::pow(z, Real(3)))));
  if (code == 3) return z / 2 * std::erfc(-z / std::sqrt(Real(2)));
  if (code == 4) return z / (1 + std::exp(-z));
  return z;
}

/// A sum of terms and what table S says of it.
struct Terms {
  Real sum = 0, magnitude = 0;
  std::int64_t count = 0;
  void add(Real term) {
    sum += term;
    magnitude += std::fabs(term);
    ++count;
  }
};

LongArrays rmsnorm(const Problem& problem, const Inputs& in) {
  const std::int64_t rows = problem.dims.at("M"), columns = problem.dims.at("N");
  const bool has_residual = problem.has_tensor("residual");
  const auto eps = static_cast<Real>(static_cast<float>(problem.scalars.at("eps")));
  LongArrays out;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<Real> source;
    Real squares = 0;
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      const double x = in.at("x")[i];
      double value = x;
      if (has_residual) {
        const double residual = in.at("residual")[i];
        // In fp32, then in the tensor's type, as everyone computes it.
        value = rounded(static_cast<float>(x) + static_cast<float>(residual), problem.dtype);
        out["stream_r"].push_back(Real(x) + Real(residual));
        out["stream_S"].push_back(std::fabs(Real(x) + Real(residual)));
        out["stream_I0"].push_back(0);
      }
      source.push_back(value);
      squares += source.back() * source.back();
    }
    const Real root = std::sqrt(squares / columns + eps);
    for (std::int64_t i = 0; i < columns; ++i) {
      const Real r = source[i] / root * in.at("weight")[i];
      out["y_r"].push_back(r);
      out["y_S"].push_back(std::sqrt(Real(columns)) * std::fabs(r));
      out["y_I0"].push_back(std::fabs(source[i] / root * in.at("weight")[i]));
    }
  }
  return out;
}

LongArrays softmax(const Problem& problem, const Inputs& in) {
  const std::int64_t rows = problem.dims.at("ROWS"), columns = problem.dims.at("COLS");
  const auto scale = static_cast<Real>(static_cast<float>(problem.scalars.at("scale")));
  LongArrays out;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<Real> s;
    for (std::int64_t i = 0; i < columns; ++i) {
      s.push_back(scale * in.at("x")[row * columns + i]);
      if (problem.has_tensor("mask")) {
        s.back() += in.at("mask")[(problem.flags.at("MASK_ROWS") != 0 ? row * columns : 0) + i];
      }
    }
    const Real m = *std::max_element(s.begin(), s.end());
    Real sum = 0, spread = 0;
    for (Real each : s) sum += std::exp(each - m);
    for (Real each : s) spread += std::exp(each - m) / sum * (std::fabs(each) + std::fabs(each - m));
    for (Real each : s) {
      const Real r = std::exp(each - m) / sum;
      out["y_r"].push_back(r);
      out["y_S"].push_back(r *
                           (1 + std::fabs(each) + std::fabs(each - m) + spread + std::sqrt(Real(columns))));
    }
  }
  return out;
}

LongArrays matmul(const Problem& problem, const Inputs& in) {
  const auto dim = [&](const char* name) { return problem.dims.at(name); };
  const std::int64_t m = dim("M"), n = dim("N"), k = dim("K");
  const bool trans_a = problem.flags.at("TRANS_A") != 0, trans_b = problem.flags.at("TRANS_B") != 0;
  LongArrays out;
  for (std::int64_t batch = 0; batch < dim("BATCH"); ++batch) {
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        Terms terms;
        for (std::int64_t i = 0; i < k; ++i) {
          const double a = in.at("a")[batch * m * k + (trans_a ? i * m + row : row * k + i)];
          const double b = in.at("b")[batch * k * n + (trans_b ? column * k + i : i * n + column)];
          terms.add(Real(a) * Real(b));
        }
        if (problem.has_tensor("bias")) terms.add(in.at("bias")[column]);
        out["c_r"].push_back(activated(problem.flags.at("ACT"), terms.sum));
        out["c_S"].push_back(std::sqrt(Real(terms.count)) * terms.magnitude);
      }
    }
  }
  return out;
}

/// Offset in a tensor of four dims, stored [a, b, c, d] or, channels last, [a, c, d, b].
struct Layout {
  bool channels_last;
  std::int64_t b, c, d;
  std::int64_t at(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
    return channels_last ? ((i * c + k) * d + l) * b + j : ((i * b + j) * c + k) * d + l;
  }
};

LongArrays conv2d(const Problem& problem, const Inputs& in) {
  const auto dim = [&](const char* name) { return problem.dims.at(name); };
  const auto flag = [&](const char* name) { return problem.flags.at(name); };
  const bool last = flag("NHWC") != 0;
  const std::int64_t group_channels = dim("C") / dim("GROUPS"), group_filters = dim("K") / dim("GROUPS");
  const Layout image{last, dim("C"), dim("H"), dim("W")}, filter{last, group_channels, dim("R"), dim("S")};
  const Layout result{last, dim("K"), dim("P"), dim("Q")};
  LongArrays out;
  out["y_r"].resize(dim("N") * dim("K") * dim("P") * dim("Q"));
  out["y_S"].resize(out["y_r"].size());
  const auto element = [&](std::int64_t n, std::int64_t k, std::int64_t p, std::int64_t q) {
    Terms terms;
    for (std::int64_t c = 0; c < group_channels; ++c) {
      for (std::int64_t r = 0; r < dim("R"); ++r) {
        for (std::int64_t s = 0; s < dim("S"); ++s) {
          const std::int64_t h = p * flag("STRIDE_H") + r * flag("DILATION_H") - flag("PAD_H");
          const std::int64_t w = q * flag("STRIDE_W") + s * flag("DILATION_W") - flag("PAD_W");
          if (h < 0 || h >= dim("H") || w < 0 || w >= dim("W")) continue;
          const std::int64_t channel = k / group_filters * group_channels + c;
          terms.add(Real(in.at("x")[image.at(n, channel, h, w)]) * Real(in.at("w")[filter.at(k, c, r, s)]));
        }
      }
    }
    const std::int64_t at = result.at(n, k, p, q);
    if (problem.has_tensor("bias")) terms.add(in.at("bias")[k]);
    if (problem.has_tensor("residual")) terms.add(in.at("residual")[at]);
    out["y_r"][at] = activated(flag("ACT"), terms.sum);
    out["y_S"][at] = std::sqrt(Real(terms.count)) * terms.magnitude;
  };
  for (std::int64_t n = 0; n < dim("N"); ++n) {
    for (std::int64_t k = 0; k < dim("K"); ++k) {
      for (std::int64_t p = 0; p < dim("P"); ++p) {
        for (std::int64_t q = 0; q < dim("Q"); ++q) element(n, k, p, q);
      }
    }
  }
  return out;
}

/// Sum of the products of two rows, and of their absolute values.
Terms dot(const std::vector<double>& a, std::int64_t a_at, const std::vector<double>& b, std::int64_t b_at,
          std::int64_t count) {
  Terms terms;
  for (std::int64_t i = 0; i < count; ++i) terms.add(Real(a[a_at + i]) * Real(b[b_at + i]));
  return terms;
}

/// The derivative of an activation.
Real slope(std::int64_t code, Real z) {
  const Real pi = std::acos(Real(-1));
  if (code == 1) return z < 0 ? 0 : 1;
  if (code == 2) {
    const Real root = std::sqrt(2 / pi), cubic = Real(0.044715);
    const Real sech = 1 / std::cosh(root * (z + cubic * z * z * z));
    return (1 + std::tanh(root * (z + cubic * z * z * z))) / 2 +
           z / 2 * sech * sech * root * (1 + 3 * cubic * z * z);
  }
  if (code == 3) return std::erfc(-z / std::sqrt(Real(2))) / 2 + z * std::exp(-z * z / 2) / std::sqrt(2 * pi);
  if (code == 4) return (1 + (1 + z) * std::exp(-z)) / std::pow(1 + std::exp(-z), Real(2));
  return 1;
}

/// A number as large as what T's rounding of it depends on: at least the smallest normal number.
Real at_least_normal(Real value, DType dtype) {
  return std::max(std::fabs(value), std::ldexp(Real(1), dtype == DType::kF16 ? -14 : -126));
}

LongArrays fused_mlp(const Problem& problem, const Inputs& in) {
  const std::int64_t rows = problem.dims.at("M"), depth = problem.dims.at("D"), width = problem.dims.at("H");
  const std::int64_t act = problem.flags.at("ACT");
  LongArrays out;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<Real> hidden, spread;
    for (std::int64_t h = 0; h < width; ++h) {
      const Terms gate = dot(in.at("x"), row * depth, in.at("w_gate"), h * depth, depth);
      const Terms up = dot(in.at("x"), row * depth, in.at("w_up"), h * depth, depth);
      const Real opened = activated(act, gate.sum);
      hidden.push_back(opened * up.sum);
      spread.push_back(std::fabs(opened) * up.magnitude +
                       std::fabs(up.sum * slope(act, gate.sum)) * gate.magnitude);
      if (act == 2 || act == 3) spread.back() += std::fabs(gate.sum * up.sum);  // 1 + tanh cancels
    }
    for (std::int64_t d = 0; d < depth; ++d) {
      Terms terms;
      Real spreads = 0, squares = 0;
      for (std::int64_t h = 0; h < width; ++h) {
        const Real weight = in.at("w_down")[d * width + h];
        terms.add(weight * hidden[h]);
        spreads += std::fabs(weight) * spread[h];
        if (hidden[h] != 0) squares += std::pow(weight * at_least_normal(hidden[h], problem.dtype), Real(2));
      }
      out["y_r"].push_back(terms.sum);
      out["y_S"].push_back(std::sqrt(Real(depth)) * spreads + std::sqrt(Real(width)) * terms.magnitude);
      out["y_I0"].push_back(1.5 * std::sqrt(squares));
    }
  }
  return out;
}

/// A key that a query sees, its logit and the absolute terms of the logit's product.
struct Seen {
  std::int64_t value_at;  ///< of its row of v
  Real logit, magnitude;
};

/// One query's output with S and I, appended.
void attend(const std::vector<Seen>& keys, const std::vector<double>& v, const Problem& problem,
            LongArrays& out) {
  const std::int64_t depth = problem.dims.at("D");
  Real highest = -std::numeric_limits<Real>::infinity(), total = 0;
  for (const Seen& key : keys) highest = std::max(highest, key.logit);
  for (const Seen& key : keys) total += std::exp(key.logit - highest);
  const auto spread = [&](const Seen& key) {  // what fp32 may change in a weight, relative to it
    return std::sqrt(Real(keys.size())) * (1 + std::fabs(key.logit)) + std::sqrt(Real(depth)) * key.magnitude;
  };
  Real of_weights = 0;
  for (const Seen& key : keys) of_weights += std::exp(key.logit - highest) / total * spread(key);
  for (std::int64_t d = 0; d < depth; ++d) {
    Real sum = 0, sums_error = 0, squares = 0;
    for (const Seen& key : keys) {
      const Real value = v[key.value_at + d], weight = std::exp(key.logit - highest);
      sum += weight / total * value;
      sums_error += std::fabs(weight / total * value) * spread(key);
      squares += std::pow(at_least_normal(weight, problem.dtype) / total * value, Real(2));
    }
    out["o_r"].push_back(sum);
    out["o_S"].push_back(sums_error + std::fabs(sum) * of_weights);
    out["o_I0"].push_back(1.5 * std::sqrt(squares));
  }
}

LongArrays flash_attention(const Problem& problem, const Inputs& in) {
  const auto dim = [&](const char* name) { return problem.dims.at(name); };
  const auto flag = [&](const char* name) { return problem.flags.at(name); };
  const std::int64_t depth = dim("D"), queries = dim("LQ"), keys = dim("LK"), heads = dim("HQ");
  const auto scale = static_cast<Real>(static_cast<float>(problem.scalars.at("scale")));
  LongArrays out;
  for (std::int64_t at = 0; at < dim("B") * heads * queries; ++at) {
    const std::int64_t query = at % queries, head = at / queries % heads, batch = at / queries / heads;
    const std::int64_t kv = (batch * dim("HKV") + head * dim("HKV") / heads) * keys * depth;
    const std::int64_t mask_batch = flag("MASK_BATCH") != 0 ? batch : 0;
    const std::int64_t mask_head = flag("MASK_HEADS") != 0 ? mask_batch * heads + head : mask_batch;
    std::vector<Seen> seen;
    for (std::int64_t key = 0; key < keys; ++key) {
      if (flag("CAUSAL") == 1 && key > query) continue;
      if (flag("CAUSAL") == 2 && keys - key < queries - query) continue;  // counted from the ends
      const Terms product = dot(in.at("q"), at * depth, in.at("k"), kv + key * depth, depth);
      seen.push_back({kv + key * depth, scale * product.sum, std::fabs(scale) * product.magnitude});
      if (problem.has_tensor("mask"))
        seen.back().logit += in.at("mask")[(mask_head * queries + query) * keys + key];
    }
    attend(seen, in.at("v"), problem, out);
  }
  return out;
}

}  // namespace

LongArrays expected_results(const Problem& problem,
                            const std::map<std::string, std::vector<double>>& inputs) {
  static const std::map<std::string, std::function<LongArrays(const Problem&, const Inputs&)>> kOracles = {
      {"rmsnorm", rmsnorm},
      {"softmax", softmax},
      {"matmul", matmul},
      {"conv2d", conv2d},
      {"reduce", reduce},
      {"layernorm", layernorm},
      {"cross_entropy", cross_entropy},
      {"rotary_embedding", rotary_embedding},
      {"fused_mlp", fused_mlp},
      {"flash_attention", flash_attention}};
  return kOracles.at(problem.op)(problem, inputs);
}

}  // namespace ak::op::testing
