/* autokernel
op = "fused_mlp"
about = "two launches on tensor cores (mma.sync): gate and up from one pass over x, then the last product; cp.async stages"
dtypes = ["f16", "bf16"]
[tunables]
BM = [16, 32, 64, 128, 256]     # tile of rows and columns that a block makes
BN = [32, 64, 128]
BK = [32, 64]                   # depth of one stage
WARPS_M = [1, 2, 4]             # warps of a block; each makes BM / WARPS_M x BN / WARPS_N
WARPS_N = [1, 2, 4]
STAGES = [2, 3, 4, 5]           # tiles in shared memory
GROUP = [1, 4, 8, 16]           # rows of tiles that are made together: their weights stay in L2
[constraints]
where = [
  "BM % (16 * WARPS_M) == 0", "BN % (16 * WARPS_N) == 0",
  "WARPS_M * WARPS_N >= 2",
  "BM / WARPS_M * (BN / WARPS_N) <= 2048",          # two sets of 64 sums a thread
  "STAGES * (BM + 2 * BN) * BK * 2 <= max_shared_bytes",
]
[defaults]
BM = 128
BN = 64
BK = 32
WARPS_M = 2
WARPS_N = 2
STAGES = 4
GROUP = 8
[[workspace]]
name = "hidden"
bytes = "elem_bytes * M * H"
[[launch]]
entry = "gate_and_up"
grid = ["ceil_div(M, BM) * ceil_div(H, BN)"]
block = ["32 * WARPS_M * WARPS_N"]
shared_bytes = "STAGES * (BM + 2 * BN) * BK * 2"
args = ["x", "w_gate", "w_up", "hidden", "M", "D", "H"]
[[launch]]
entry = "down"
grid = ["ceil_div(M, BM) * ceil_div(D, BN)"]
block = ["32 * WARPS_M * WARPS_N"]
shared_bytes = "STAGES * (BM + BN) * BK * 2"
args = ["hidden", "w_down", "y", "M", "D", "H"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
#include "autokernel/device/mma.cuh"

constexpr int kThreads = 32 * WARPS_M * WARPS_N;
constexpr int kRows = BM / WARPS_M, kColumns = BN / WARPS_N;  // of a warp

// Of a product of a [rows, terms] and b [columns, terms], transposed: the tile that a block makes.
struct Tile {
  int rows, columns, terms;
  int row, column;
};
// GROUP rows of tiles are made together, column by column.
static __device__ Tile tile(int rows, int columns, int terms) {
  const int down = (rows + BM - 1) / BM, across = (columns + BN - 1) / BN;
  const int first = blockIdx.x / (GROUP * across) * GROUP, in_group = blockIdx.x % (GROUP * across);
  const int height = down - first < GROUP ? down - first : GROUP;
  return {rows, columns, terms, (first + in_group % height) * BM, in_group / height * BN};
}

using Sums = float[kRows / 16][kColumns / 8][4];

// kFactors products of one a with each of b: sums[n] = a b[n]^T.
template <int kFactors>
static __device__ void multiply(Sums (&sums)[kFactors], const scalar_t* a, const scalar_t* const (&b)[kFactors],
                                const Tile& t) {
  extern __shared__ uint4 shared[];
  constexpr int kStage = (BM + kFactors * BN) * BK;
  scalar_t* stages = (scalar_t*)shared;
  const int steps = (t.terms + BK - 1) / BK;
  const auto fetch = [&](int step) {
    scalar_t* stage = stages + step % STAGES * kStage;
    ak::copy_tile<BM, BK, kThreads>(stage, a, t.row, t.rows, step * BK, t.terms);
    for (int n = 0; n < kFactors; ++n) {
      ak::copy_tile<BN, BK, kThreads>(stage + (BM + n * BN) * BK, b[n], t.column, t.columns, step * BK, t.terms);
    }
  };
#pragma unroll
  for (int step = 0; step < STAGES - 1; ++step) {
    if (step < steps) fetch(step);
    ak::copy_commit();
  }
  const int warp = threadIdx.x / 32, row = warp / WARPS_N * kRows, column = warp % WARPS_N * kColumns;
  for (int step = 0; step < steps; ++step) {
    ak::copy_wait<STAGES - 2>();
    __syncthreads();  // the stage has arrived for all, and all are done with the one that is filled next
    if (step + STAGES - 1 < steps) fetch(step + STAGES - 1);
    ak::copy_commit();
    const scalar_t* stage = stages + step % STAGES * kStage;
#pragma unroll
    for (int k = 0; k < BK; k += 16) {
      unsigned left[kRows / 16][4];
#pragma unroll
      for (int i = 0; i < kRows / 16; ++i) ak::load_left<BK, false>(left[i], stage, row + 16 * i, k);
#pragma unroll
      for (int n = 0; n < kFactors; ++n) {
#pragma unroll
        for (int j = 0; j < kColumns / 16; ++j) {
          unsigned right[4];
          ak::load_right<BK, true>(right, stage + (BM + n * BN) * BK, k, column + 16 * j);
#pragma unroll
          for (int i = 0; i < kRows / 16; ++i) {
            ak::multiply_add<scalar_t>(sums[n][i][2 * j], left[i], right[0], right[1]);
            ak::multiply_add<scalar_t>(sums[n][i][2 * j + 1], left[i], right[2], right[3]);
          }
        }
      }
    }
  }
}

// value(i, j, k): what becomes of sums [i][j][k].
template <class Value>
static __device__ void store(scalar_t* out, const Tile& t, const Value& value) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = t.row + warp / WARPS_N * kRows + 16 * i + 8 * half + lane / 4;
        const int column = t.column + warp % WARPS_N * kColumns + 8 * j + lane % 4 * 2;
        if (row >= t.rows || column >= t.columns) continue;
        scalar_t* to = out + (long long)row * t.columns + column;
        const float first = value(i, j, 2 * half), second = value(i, j, 2 * half + 1);
        if (t.columns % 2 == 0) {
          *(unsigned*)to = ak::pack<scalar_t>(first, second);
        } else {
          to[0] = ak::from_float<scalar_t>(first);
          if (column + 1 < t.columns) to[1] = ak::from_float<scalar_t>(second);
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gate_and_up(const scalar_t* x, const scalar_t* w_gate, const scalar_t* w_up, scalar_t* hidden, int M, int D, int H) {
  const Tile t = tile(M, H, D);
  const scalar_t* const weights[2] = {w_gate, w_up};
  Sums sums[2] = {};
  multiply<2>(sums, x, weights, t);
  store(hidden, t, [&](int i, int j, int k) { return ak::activate<ACT>(sums[0][i][j][k]) * sums[1][i][j][k]; });
}

extern "C" __global__ void __launch_bounds__(kThreads)
    down(const scalar_t* hidden, const scalar_t* w_down, scalar_t* y, int M, int D, int H) {
  const Tile t = tile(M, D, H);
  const scalar_t* const weights[1] = {w_down};
  Sums sums[1] = {};
  multiply<1>(sums, hidden, weights, t);
  store(y, t, [&](int i, int j, int k) { return sums[0][i][j][k]; });
}
