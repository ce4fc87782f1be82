/* autokernel
op = "matmul"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; BLOCK threads per tile"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BLOCK = [1, 256]   # what suits the device
[defaults]
BLOCK = 1
[[launch]]
entry = "reference"
grid = ["BATCH * ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(N, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["a", "b", "bias", "c_r", "c_S", "M", "N", "K", "TRANS_A", "TRANS_B", "HAS_BIAS", "ACT"]
[[launch]]
entry = "contract"
grid = ["BATCH * ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(N, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["a", "b", "bias", "c", "M", "N", "K", "TRANS_A", "TRANS_B", "HAS_BIAS", "ACT"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
#include "autokernel/device/tile_sums.cuh"

// A matrix whose rows belong to the outputs, stored [rows, K] or, transposed, [K, rows].
struct Operand {
  const scalar_t* first;  // of the batch
  int rows, to_row, to_term;

  // Zero beyond the rows.
  __device__ float at(int row, int k) const {
    return row < rows ? ak::to_float(first[(long long)row * to_row + (long long)k * to_term]) : 0.0f;
  }
};

// The tile of outputs that a block computes.
struct Tile {
  Operand a, b;
  int row, column;
  long long c;  // index of the batch's first output

  __device__ bool has(int i, int j) const { return row + i < a.rows && column + j < b.rows; }
  __device__ long long output(int i, int j) const { return c + (long long)(row + i) * b.rows + column + j; }
  __device__ float left(int i, int k) const { return a.at(row + i, k); }
  __device__ float right(int j, int k) const { return b.at(column + j, k); }
};

static __device__ Tile tile(const scalar_t* a, const scalar_t* b, int M, int N, int K, int trans_a, int trans_b) {
  const int across = (N + ak::kTile - 1) / ak::kTile, down = (M + ak::kTile - 1) / ak::kTile;
  const long long batch = blockIdx.x / across / down;
  return {{a + batch * M * K, M, trans_a ? 1 : K, trans_a ? M : 1},
          {b + batch * K * N, N, trans_b ? K : 1, trans_b ? 1 : N},
          (int)(blockIdx.x / across % down) * ak::kTile,
          (int)(blockIdx.x % across) * ak::kTile,
          batch * M * N};
}

extern "C" __global__ void reference(const scalar_t* a, const scalar_t* b, const scalar_t* bias, double* c_r,
                                     double* c_S, int M, int N, int K, int trans_a, int trans_b, int has_bias,
                                     int act) {
  __shared__ ak::Stage<1> stage;
  const Tile t = tile(a, b, M, N, K, trans_a, trans_b);
  ak::Sums<1> sums = {};
  ak::accumulate(
      sums, stage, K, trans_a == 0, [&](int i, int k) { return ak::exact(t.left(i, k)); }, trans_b != 0,
      [&](int j, int k) { return ak::exact(t.right(j, k)); });
  ak::each_sum(sums, [&](int, int row, int column, ak::Term<1> sum) {
    if (!t.has(row, column)) return;
    if (has_bias) {
      const float shift = ak::to_float(bias[t.column + column]);
      sum.exact[0] += shift;
      sum.single += fabsf(shift);
    }
    const long long at = t.output(row, column);
    c_r[at] = ak::activate(act, sum.exact[0]);
    c_S[at] = sqrt((double)K + has_bias) * sum.single;
  });
}

extern "C" __global__ void contract(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int M,
                                    int N, int K, int trans_a, int trans_b, int has_bias, int act) {
  __shared__ ak::Stage<0> stage;
  const Tile t = tile(a, b, M, N, K, trans_a, trans_b);
  ak::Sums<0> sums = {};
  ak::accumulate(
      sums, stage, K, trans_a == 0, [&](int i, int k) { return ak::single(t.left(i, k)); }, trans_b != 0,
      [&](int j, int k) { return ak::single(t.right(j, k)); });
  ak::each_sum(sums, [&](int, int row, int column, ak::Term<0> sum) {
    if (!t.has(row, column)) return;
    if (has_bias) sum.single += ak::to_float(bias[t.column + column]);
    c[t.output(row, column)] = ak::from_float<scalar_t>(ak::activate(act, sum.single));
  });
}
