/* autokernel
op = "fused_mlp"
about = "two launches: the hidden values into a workspace, then the last product; 8 x 4 values of a tile per thread"
dtypes = ["f32", "f16", "bf16"]
[tunables]
TILE_M = [32, 64, 128]      # rows and columns that a block makes
TILE_N = [32, 64, 128]
STEP = [8, 16, 32]          # terms of the sums that are staged at a time
[constraints]
where = ["TILE_M / 8 * (TILE_N / 4) >= 32", "TILE_M / 8 * (TILE_N / 4) <= max_threads"]
needs = ["ceil_div(M, TILE_M) <= 65535"]     # limit of a grid
[defaults]
TILE_M = 128
TILE_N = 64
STEP = 16
[[workspace]]
name = "hidden"
bytes = "elem_bytes * M * H"
[[launch]]
entry = "gate_and_up"
grid = ["ceil_div(H, TILE_N)", "ceil_div(M, TILE_M)"]
block = ["TILE_M / 8 * (TILE_N / 4)"]
args = ["x", "w_gate", "w_up", "hidden", "M", "D", "H"]
[[launch]]
entry = "down"
grid = ["ceil_div(D, TILE_N)", "ceil_div(M, TILE_M)"]
block = ["TILE_M / 8 * (TILE_N / 4)"]
args = ["hidden", "w_down", "y", "M", "D", "H"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

constexpr int kAcross = TILE_N / 4, kDown = TILE_M / 8;  // threads

// Row and column of a thread's sums: groups of four neighbours, which are read from shared memory at once.
static __device__ int row_of(int i) { return i / 4 * (4 * kDown) + threadIdx.x / kAcross * 4 + i % 4; }
static __device__ int column_of(int j) { return threadIdx.x % kAcross * 4 + j; }

// The block's tile of a b^T, from a [rows, terms] and b [columns, terms].
static __device__ void multiply(float (&sums)[8][4], const scalar_t* a, const scalar_t* b, int rows, int columns,
                                int terms) {
  // Four more columns, so that transposing stores meet fewer bank conflicts.
  __shared__ alignas(16) float left[STEP][TILE_M + 4];
  __shared__ alignas(16) float right[STEP][TILE_N + 4];
  const int first_row = blockIdx.y * TILE_M, first_column = blockIdx.x * TILE_N;
  for (int base = 0; base < terms; base += STEP) {
    for (int at = threadIdx.x; at < (TILE_M + TILE_N) * STEP; at += kAcross * kDown) {
      const int k = at % STEP, row = at / STEP, column = row - TILE_M;
      if (row < TILE_M) {
        const bool inside = base + k < terms && first_row + row < rows;
        left[k][row] = inside ? ak::to_float(a[(long long)(first_row + row) * terms + base + k]) : 0.0f;
      } else {
        const bool inside = base + k < terms && first_column + column < columns;
        right[k][column] = inside ? ak::to_float(b[(long long)(first_column + column) * terms + base + k]) : 0.0f;
      }
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < STEP; ++k) {
      float row[8], column[4];
      for (int i = 0; i < 8; ++i) row[i] = left[k][row_of(i)];
      for (int j = 0; j < 4; ++j) column[j] = right[k][column_of(j)];
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += row[i] * column[j];
    }
    __syncthreads();
  }
}

static __device__ void store(scalar_t* out, const float (&values)[8][4], int rows, int columns) {
  for (int i = 0; i < 8; ++i) {
    const int row = blockIdx.y * TILE_M + row_of(i);
    for (int j = 0; j < 4; ++j) {
      const int column = blockIdx.x * TILE_N + column_of(j);
      if (row < rows && column < columns) out[(long long)row * columns + column] = ak::from_float<scalar_t>(values[i][j]);
    }
  }
}

extern "C" __global__ void gate_and_up(const scalar_t* x, const scalar_t* w_gate, const scalar_t* w_up,
                                       scalar_t* hidden, int M, int D, int H) {
  float gate[8][4] = {}, up[8][4] = {};
  multiply(gate, x, w_gate, M, H, D);
  multiply(up, x, w_up, M, H, D);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 4; ++j) up[i][j] *= ak::activate<ACT>(gate[i][j]);
  store(hidden, up, M, H);
}

extern "C" __global__ void down(const scalar_t* hidden, const scalar_t* w_down, scalar_t* y, int M, int D, int H) {
  float sums[8][4] = {};
  multiply(sums, hidden, w_down, M, D, H);
  store(y, sums, M, D);
}
