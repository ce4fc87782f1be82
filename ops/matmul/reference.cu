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
args = ["a", "b", "bias", "c_r", "c_S", "M", "N", "K"]
[[launch]]
entry = "contract"
grid = ["BATCH * ceil_div(M, BLOCK > 1 ? 64 : 4) * ceil_div(N, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["a", "b", "bias", "c", "M", "N", "K"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
#include "autokernel/device/tile_sums.cuh"

// The tile of outputs that a block computes, and the operands of its batch.
struct Tile {
  const scalar_t* a;
  const scalar_t* b;
  int M, N, K;
  long long c;  // index of the batch's first output
  int row, column;

  __device__ bool has(int i, int j) const { return row + i < M && column + j < N; }
  __device__ long long output(int i, int j) const { return c + (long long)(row + i) * N + column + j; }
  // 0 beyond the matrices.
  __device__ float left(int i, int k) const {
    if (row + i >= M) return 0;
    return ak::to_float(a[TRANS_A ? (long long)k * M + row + i : (long long)(row + i) * K + k]);
  }
  __device__ float right(int j, int k) const {
    if (column + j >= N) return 0;
    return ak::to_float(b[TRANS_B ? (long long)(column + j) * K + k : (long long)k * N + column + j]);
  }
};

static __device__ Tile tile(const scalar_t* a, const scalar_t* b, int M, int N, int K) {
  const int across = (N + ak::kTile - 1) / ak::kTile, down = (M + ak::kTile - 1) / ak::kTile;
  const long long batch = blockIdx.x / across / down;
  return {a + batch * M * K,
          b + batch * K * N,
          M,
          N,
          K,
          batch * M * N,
          (int)(blockIdx.x / across % down) * ak::kTile,
          (int)(blockIdx.x % across) * ak::kTile};
}

// Not inlined, since each of a thread's sums is finished by code of its own.
static __device__ __noinline__ double activated(double sum) { return ak::activate<ACT>(sum); }

extern "C" __global__ void reference(const scalar_t* a, const scalar_t* b, const scalar_t* bias, double* c_r,
                                     double* c_S, int M, int N, int K) {
  __shared__ ak::Stage<1> stage;
  const Tile t = tile(a, b, M, N, K);
  ak::Sums<1> sums = {};
  ak::accumulate<TRANS_A == 0, TRANS_B != 0>(
      sums, stage, K, [&](int i, int k) { return ak::exact(t.left(i, k)); },
      [&](int j, int k) { return ak::exact(t.right(j, k)); });
  ak::each_sum([&](int i, int j, int row, int column) {
    if (!t.has(row, column)) return;
    ak::Term<1> sum = sums.at[i][j];
#if HAS_BIAS
    const float shift = ak::to_float(bias[t.column + column]);
    sum.exact[0] += shift;
    sum.single += fabsf(shift);
#endif
    const long long at = t.output(row, column);
    c_r[at] = activated(sum.exact[0]);
    c_S[at] = sqrt((double)K + HAS_BIAS) * sum.single;
  });
}

extern "C" __global__ void contract(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int M,
                                    int N, int K) {
  __shared__ ak::Stage<0> stage;
  const Tile t = tile(a, b, M, N, K);
  ak::Sums<0> sums = {};
  ak::accumulate<TRANS_A == 0, TRANS_B != 0>(
      sums, stage, K, [&](int i, int k) { return ak::single(t.left(i, k)); },
      [&](int j, int k) { return ak::single(t.right(j, k)); });
  ak::each_sum([&](int i, int j, int row, int column) {
    if (!t.has(row, column)) return;
    float sum = sums.at[i][j].single;
#if HAS_BIAS
    sum += ak::to_float(bias[t.column + column]);
#endif
    c[t.output(row, column)] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
  });
}
