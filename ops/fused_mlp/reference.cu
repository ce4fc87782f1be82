/* autokernel
op = "fused_mlp"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; three products each, by tiles of BLOCK threads"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BLOCK = [1, 256]   # what suits the device
[defaults]
BLOCK = 1
[[workspace]]
name = "hidden"                         # first the gates, then act(gate) * up, in fp64
bytes = "8 * M * H"
[[workspace]]
name = "spread"                         # first the gates' sums of absolute terms, then what fp32 sums may change in hidden
bytes = "4 * M * H"
[[workspace]]
name = "rounded"                        # of the contract: its hidden values, in fp32
bytes = "4 * M * H"
[[launch]]
entry = "reference_project"
grid = ["ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(H, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["x", "w_gate", "hidden", "spread", "M", "D", "H", "ACT", "0"]
[[launch]]
entry = "reference_project"
grid = ["ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(H, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["x", "w_up", "hidden", "spread", "M", "D", "H", "ACT", "1"]
[[launch]]
entry = "reference_down"
grid = ["ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(D, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["hidden", "spread", "w_down", "y_r", "y_S", "y_I0", "M", "D", "H"]
[[launch]]
entry = "contract_project"
grid = ["ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(H, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["x", "w_gate", "rounded", "M", "D", "H", "ACT", "0"]
[[launch]]
entry = "contract_project"
grid = ["ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(H, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["x", "w_up", "rounded", "M", "D", "H", "ACT", "1"]
[[launch]]
entry = "contract_down"
grid = ["ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(D, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["rounded", "w_down", "y", "M", "D", "H"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
#include "autokernel/device/tile_sums.cuh"

// The tile of a block in a product of a [rows, terms] and b [columns, terms], transposed: [rows, columns].
struct Tile {
  int rows, columns, terms;
  int row, column;

  __device__ bool has(int i, int j) const { return row + i < rows && column + j < columns; }
  __device__ long long output(int i, int j) const { return (long long)(row + i) * columns + column + j; }
  // Where a factor lies; beyond the matrices: false.
  __device__ bool left(int i, int k, long long* at) const {
    *at = (long long)(row + i) * terms + k;
    return row + i < rows;
  }
  __device__ bool right(int j, int k, long long* at) const {
    *at = (long long)(column + j) * terms + k;
    return column + j < columns;
  }
};

static __device__ Tile tile(int rows, int columns, int terms) {
  const int across = (columns + ak::kTile - 1) / ak::kTile;
  return {rows, columns, terms, (int)(blockIdx.x / across) * ak::kTile, (int)(blockIdx.x % across) * ak::kTile};
}

// The derivative of an activation.
static __device__ __noinline__ double slope(int act, double x) {
  if (act == 1) return x < 0 ? 0 : 1;
  if (act == 2) {
    const double root = 0.7978845608028654;  // sqrt(2 / pi)
    const double t = tanh(root * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
  }
  if (act == 3) {
    const double density = 0.3989422804014327 * exp(-0.5 * x * x);  // 1 / sqrt(2 pi)
    return 0.5 * (1 + erf(x * 0.7071067811865476)) + x * density;
  }
  if (act == 4) {
    const double share = 1 / (1 + exp(-x));
    return share * (1 + x * (1 - share));
  }
  return 1;
}

// x w^T in fp64, with the sums of absolute terms: first the gates, then act(gate) * up.
extern "C" __global__ void reference_project(const scalar_t* x, const scalar_t* w, double* hidden, float* spread, int M,
                                             int D, int H, int act, int is_up) {
  __shared__ ak::Stage<1> stage;
  const Tile t = tile(M, H, D);
  ak::Sums<1> sums = {};
  ak::accumulate(
      sums, stage, D, true,
      [&](int i, int k) {
        long long at;
        return ak::exact(t.left(i, k, &at) ? ak::to_float(x[at]) : 0.0f);
      },
      true,
      [&](int j, int k) {
        long long at;
        return ak::exact(t.right(j, k, &at) ? ak::to_float(w[at]) : 0.0f);
      });
  ak::each_sum(sums, [&](int, int row, int column, const ak::Term<1>& sum) {
    if (!t.has(row, column)) return;
    const long long at = t.output(row, column);
    if (!is_up) {
      hidden[at] = sum.exact[0];
      spread[at] = sum.single;
      return;
    }
    const double gate = hidden[at], opened = ak::activate(act, gate);
    double size = fabs(opened) * sum.single + fabs(sum.exact[0] * slope(act, gate)) * spread[at];
    if (act == 2 || act == 3) size += fabs(gate * sum.exact[0]);  // 1 + tanh, 1 + erf cancel in the left tail
    hidden[at] = opened * sum.exact[0];
    spread[at] = (float)size;
  });
}

// Two sums in fp64: the result, and the squares of what roundings of hidden values change. And what fp32 sums, of hidden
// values and of the products with them, may change.
extern "C" __global__ void reference_down(const double* hidden, const float* spread, const scalar_t* w_down,
                                          double* y_r, double* y_S, double* y_I0, int M, int D, int H) {
  __shared__ ak::Stage<2> stage;
  const Tile t = tile(M, D, H);
  const float of_hidden = sqrtf((float)D), of_products = sqrtf((float)H);
  ak::Sums<2> sums = {};
  ak::accumulate(
      sums, stage, H, true,
      [&](int i, int k) {
        long long at;
        if (!t.left(i, k, &at)) return ak::Term<2>{};
        const double h = hidden[at];
        const double rounded = h == 0 ? 0 : fmax(fabs(h), (double)ak::smallest_normal<scalar_t>());
        return ak::Term<2>{{h, rounded * rounded}, of_hidden * spread[at] + of_products * (float)fabs(h)};
      },
      true,
      [&](int j, int k) {
        long long at;
        if (!t.right(j, k, &at)) return ak::Term<2>{};
        const double weight = ak::to_float(w_down[at]);
        return ak::Term<2>{{weight, weight * weight}, (float)fabs(weight)};
      });
  ak::each_sum(sums, [&](int, int row, int column, const ak::Term<2>& sum) {
    if (!t.has(row, column)) return;
    const long long at = t.output(row, column);
    y_r[at] = sum.exact[0];
    y_S[at] = sum.single;
    y_I0[at] = ak::of_many_roundings(sum.exact[1]);
  });
}

// The same in fp32, the hidden values never rounded further.
template <class Value, class Finish>
static __device__ void multiply(const Value* a, const scalar_t* b, int rows, int columns, int terms,
                                const Finish& finish) {
  __shared__ ak::Stage<0> stage;
  const Tile t = tile(rows, columns, terms);
  ak::Sums<0> sums = {};
  ak::accumulate(
      sums, stage, terms, true,
      [&](int i, int k) {
        long long at;
        return ak::single(t.left(i, k, &at) ? ak::to_float(a[at]) : 0.0f);
      },
      true,
      [&](int j, int k) {
        long long at;
        return ak::single(t.right(j, k, &at) ? ak::to_float(b[at]) : 0.0f);
      });
  ak::each_sum(sums, [&](int, int row, int column, const ak::Term<0>& sum) {
    if (t.has(row, column)) finish(t.output(row, column), sum.single);
  });
}

extern "C" __global__ void contract_project(const scalar_t* x, const scalar_t* w, float* rounded, int M, int D, int H,
                                            int act, int is_up) {
  multiply(x, w, M, H, D, [&](long long at, float sum) {
    if (is_up) {
      rounded[at] *= sum;
    } else {
      rounded[at] = ak::activate(act, sum);
    }
  });
}

extern "C" __global__ void contract_down(const float* rounded, const scalar_t* w_down, scalar_t* y, int M, int D,
                                         int H) {
  multiply(rounded, w_down, M, D, H, [&](long long at, float sum) { y[at] = ak::from_float<scalar_t>(sum); });
}
