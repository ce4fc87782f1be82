/* autokernel
op = "matmul"
about = "tensor cores (mma.sync) on tiles that cp.async brings into shared memory, stages ahead of their use"
dtypes = ["f16", "bf16"]
[tunables]
BM = [16, 32, 64, 128, 256]     # tile of c that a block makes
BN = [32, 64, 128, 256]
BK = [32, 64]                   # depth of one stage
WARPS_M = [1, 2, 4]             # warps of a block; each makes BM / WARPS_M x BN / WARPS_N
WARPS_N = [1, 2, 4]
STAGES = [2, 3, 4, 5]           # tiles in shared memory
GROUP = [1, 4, 8, 16]           # rows of tiles that are made together: their columns of b stay in L2
[constraints]
where = [
  "BM % (16 * WARPS_M) == 0", "BN % (16 * WARPS_N) == 0",
  "WARPS_M * WARPS_N >= 2",
  "BM / WARPS_M * (BN / WARPS_N) <= 4096",          # 128 sums a thread
  "STAGES * (BM + BN) * BK * 2 <= max_shared_bytes",
]
needs = ["BATCH <= 65535"]
[defaults]
BM = 128
BN = 128
BK = 64
WARPS_M = 2
WARPS_N = 2
STAGES = 3
GROUP = 8
[[launch]]
entry = "matmul"
grid = ["ceil_div(M, BM) * ceil_div(N, BN)", "BATCH"]
block = ["32 * WARPS_M * WARPS_N"]
shared_bytes = "STAGES * (BM + BN) * BK * 2"
args = ["a", "b", "bias", "c", "M", "N", "K"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
#include "autokernel/device/mma.cuh"

constexpr int kThreads = 32 * WARPS_M * WARPS_N;
constexpr int kRows = BM / WARPS_M, kColumns = BN / WARPS_N;  // of a warp

struct Problem {
  const scalar_t* a;
  const scalar_t* b;
  int M, N, K;
  int row, column;  // of the block's tile
};

// Tiles of a and b for the terms from k on, as they lie in memory.
constexpr int kWidthA = TRANS_A ? BM : BK, kWidthB = TRANS_B ? BK : BN;
static __device__ void fetch_stage(scalar_t* stage, const Problem& p, int k) {
#if TRANS_A
  ak::copy_tile<BK, BM, kThreads>(stage, p.a, k, p.K, p.row, p.M);
#else
  ak::copy_tile<BM, BK, kThreads>(stage, p.a, p.row, p.M, k, p.K);
#endif
#if TRANS_B
  ak::copy_tile<BN, BK, kThreads>(stage + BM * BK, p.b, p.column, p.N, k, p.K);
#else
  ak::copy_tile<BK, BN, kThreads>(stage + BM * BK, p.b, k, p.K, p.column, p.N);
#endif
}

static __device__ void multiply_stage(float (&sums)[kRows / 16][kColumns / 8][4], const scalar_t* stage) {
  const int warp = threadIdx.x / 32, m = warp / WARPS_N * kRows, n = warp % WARPS_N * kColumns;
#pragma unroll
  for (int k = 0; k < BK; k += 16) {
    unsigned a[kRows / 16][4], b[kColumns / 16][4];
#pragma unroll
    for (int i = 0; i < kRows / 16; ++i) ak::load_left<kWidthA, TRANS_A != 0>(a[i], stage, m + 16 * i, k);
#pragma unroll
    for (int j = 0; j < kColumns / 16; ++j) {
      ak::load_right<kWidthB, TRANS_B != 0>(b[j], stage + BM * BK, k, n + 16 * j);
    }
#pragma unroll
    for (int i = 0; i < kRows / 16; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns / 8; ++j) {
        ak::multiply_add<scalar_t>(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
}

static __device__ float finished(float sum, const scalar_t* bias, int column) {
#if HAS_BIAS
  sum += ak::to_float(bias[column]);
#else
  (void)bias;
  (void)column;
#endif
  return ak::activate<ACT>(sum);
}

// The tile of a block: GROUP rows of tiles are made together, column by column.
static __device__ Problem tile_of(const scalar_t* a, const scalar_t* b, int M, int N, int K) {
  const int down = (M + BM - 1) / BM, across = (N + BN - 1) / BN;
  const int first = blockIdx.x / (GROUP * across) * GROUP, in_group = blockIdx.x % (GROUP * across);
  const int height = down - first < GROUP ? down - first : GROUP;
  const long long batch = blockIdx.y;
  return {a + batch * M * K, b + batch * K * N, M, N, K, (first + in_group % height) * BM, in_group / height * BN};
}

extern "C" __global__ void __launch_bounds__(kThreads)
    matmul(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int M, int N, int K) {
  extern __shared__ uint4 shared[];
  scalar_t* stages = (scalar_t*)shared;
  constexpr int kStage = (BM + BN) * BK;
  const Problem p = tile_of(a, b, M, N, K);
  const int steps = (K + BK - 1) / BK;
#pragma unroll
  for (int step = 0; step < STAGES - 1; ++step) {
    if (step < steps) fetch_stage(stages + step * kStage, p, step * BK);
    ak::copy_commit();
  }
  float sums[kRows / 16][kColumns / 8][4] = {};
  for (int step = 0; step < steps; ++step) {
    ak::copy_wait<STAGES - 2>();
    __syncthreads();  // the stage has arrived for all, and all are done with the one that is filled next
    const int next = step + STAGES - 1;
    if (next < steps) fetch_stage(stages + next % STAGES * kStage, p, next * BK);
    ak::copy_commit();
    multiply_stage(sums, stages + step % STAGES * kStage);
  }
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  c += (long long)blockIdx.y * M * N;
#pragma unroll
  for (int i = 0; i < kRows / 16; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      const int column = p.column + warp % WARPS_N * kColumns + 8 * j + lane % 4 * 2;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = p.row + warp / WARPS_N * kRows + 16 * i + 8 * half + lane / 4;
        if (row >= M || column >= N) continue;
        scalar_t* to = c + (long long)row * N + column;
        const float first = finished(sums[i][j][2 * half], bias, column);
        if (N % 2 == 0) {
          *(unsigned*)to = ak::pack<scalar_t>(first, finished(sums[i][j][2 * half + 1], bias, column + 1));
        } else {
          to[0] = ak::from_float<scalar_t>(first);
          if (column + 1 < N) to[1] = ak::from_float<scalar_t>(finished(sums[i][j][2 * half + 1], bias, column + 1));
        }
      }
    }
  }
}
