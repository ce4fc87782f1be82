/* autokernel
op = "matmul"
about = "a square tile of c per block, EACH x EACH elements per thread; operands staged in shared memory as floats"
dtypes = ["f32", "f16", "bf16"]
[tunables]
TILE = [32, 64, 128]        # rows and columns of c that a block makes
EACH = [4, 8]               # rows and columns that a thread makes
STEP = [8, 16, 32]          # terms of the sums that are staged at a time
[constraints]
where = ["TILE / EACH * (TILE / EACH) >= 32", "TILE / EACH * (TILE / EACH) <= max_threads"]
needs = ["BATCH <= 65535", "ceil_div(M, TILE) <= 65535"]     # limits of a grid
[defaults]
TILE = 128
EACH = 8
STEP = 16
[[launch]]
entry = "matmul"
grid = ["ceil_div(N, TILE)", "ceil_div(M, TILE)", "BATCH"]
block = ["TILE / EACH * (TILE / EACH)"]
args = ["a", "b", "bias", "c", "M", "N", "K"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

constexpr int kSide = TILE / EACH;  // threads along either side of the tile

// Rows or columns of a thread: groups of four neighbours, which are read from shared memory at once.
static __device__ int place(int thread, int i) { return i / 4 * (4 * kSide) + 4 * thread + i % 4; }

extern "C" __global__ void matmul(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int M, int N,
                                  int K) {
  // Four more columns, so that transposing stores meet fewer bank conflicts.
  __shared__ alignas(16) float left[STEP][TILE + 4];
  __shared__ alignas(16) float right[STEP][TILE + 4];
  const int across = threadIdx.x % kSide, down = threadIdx.x / kSide;
  const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  const long long batch = blockIdx.z;
  a += batch * M * K;
  b += batch * K * N;
  float sums[EACH][EACH] = {};
  for (int base = 0; base < K; base += STEP) {
    for (int at = threadIdx.x; at < TILE * STEP; at += kSide * kSide) {
      // Neighbouring threads read neighbouring addresses, whichever way an operand is stored.
      const int ka = TRANS_A ? at / TILE : at % STEP, row = TRANS_A ? at % TILE : at / STEP;
      const long long from_a = TRANS_A ? (long long)(base + ka) * M + first_row + row
                                       : (long long)(first_row + row) * K + base + ka;
      left[ka][row] = base + ka < K && first_row + row < M ? ak::to_float(a[from_a]) : 0.0f;
      const int kb = TRANS_B ? at % STEP : at / TILE, column = TRANS_B ? at / STEP : at % TILE;
      const long long from_b = TRANS_B ? (long long)(first_column + column) * K + base + kb
                                       : (long long)(base + kb) * N + first_column + column;
      right[kb][column] = base + kb < K && first_column + column < N ? ak::to_float(b[from_b]) : 0.0f;
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < STEP; ++k) {
      float rows[EACH], columns[EACH];
      for (int i = 0; i < EACH; ++i) rows[i] = left[k][place(down, i)];
      for (int j = 0; j < EACH; ++j) columns[j] = right[k][place(across, j)];
      for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) sums[i][j] += rows[i] * columns[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < EACH; ++i) {
    const int row = first_row + place(down, i);
    for (int j = 0; j < EACH; ++j) {
      const int column = first_column + place(across, j);
      if (row >= M || column >= N) continue;
      float sum = sums[i][j];
#if HAS_BIAS
      sum += ak::to_float(bias[column]);
#endif
      c[batch * M * N + (long long)row * N + column] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
    }
  }
}
