/* autokernel
op = "fused_mlp"
about = "two launches; tiles of both operands in shared memory, TM x TN values of a tile in each thread's registers"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BM = [16, 32, 64, 128]                  # tile of rows and columns that a block makes
BN = [16, 32, 64, 128]
BK = [8, 16, 32]                        # depth of one step
TM = [1, 2, 4, 8]                       # part of the tile that a thread makes
TN = [1, 2, 4, 8]
[constraints]
where = [
  "BM % TM == 0", "BN % TN == 0",
  "BM / TM * (BN / TN) >= 32",
  "BM / TM * (BN / TN) <= max_threads",
  "TM * TN <= 32",                      # two sets of sums in registers
  "4 * BK * (BM + 2 * BN + 3) <= 49152",    # static shared memory
]
needs = ["ceil_div(M, BM) <= 65535"]
[defaults]
BM = 64
BN = 64
BK = 16
TM = 4
TN = 4
[[workspace]]
name = "hidden"
bytes = "elem_bytes * M * H"
[[launch]]
entry = "gate_and_up"
grid = ["ceil_div(H, BN)", "ceil_div(M, BM)"]
block = ["BN / TN * (BM / TM)"]
args = ["x", "w_gate", "w_up", "hidden", "M", "D", "H"]
[[launch]]
entry = "down"
grid = ["ceil_div(D, BN)", "ceil_div(M, BM)"]
block = ["BN / TN * (BM / TM)"]
args = ["hidden", "w_down", "y", "M", "D", "H"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

constexpr int kAcross = BN / TN;  // threads along a row of the tile
constexpr int kThreads = kAcross * (BM / TM);

// `tile` [BK][kRows + 1] = rows first .. of a [rows, depth] matrix, columns base ..; 0 beyond its edges. One more column,
// so that this transposing store meets fewer bank conflicts.
template <int kRows>
static __device__ void stage(float (&tile)[BK][kRows + 1], const scalar_t* matrix, int first, int rows, int base,
                             int depth) {
  for (int at = threadIdx.x; at < kRows * BK; at += kThreads) {
    const int k = at % BK, row = at / BK;
    const bool inside = base + k < depth && first + row < rows;
    tile[k][row] = inside ? ak::to_float(matrix[(long long)(first + row) * depth + base + k]) : 0.0f;
  }
}

static __device__ void multiply(float (&sums)[TM][TN], const float (&left)[BK][BM + 1], const float (&right)[BK][BN + 1]) {
  const int across = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
#pragma unroll
  for (int k = 0; k < BK; ++k) {
    float rows[TM], columns[TN];
    for (int i = 0; i < TM; ++i) rows[i] = left[k][down * TM + i];
    for (int j = 0; j < TN; ++j) columns[j] = right[k][j * kAcross + across];
    for (int i = 0; i < TM; ++i)
      for (int j = 0; j < TN; ++j) sums[i][j] += rows[i] * columns[j];
  }
}

static __device__ void store(scalar_t* out, const float (&sums)[TM][TN], int rows, int columns) {
  const int across = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
  for (int i = 0; i < TM; ++i) {
    const int row = blockIdx.y * BM + down * TM + i;
    for (int j = 0; j < TN; ++j) {
      const int column = blockIdx.x * BN + j * kAcross + across;
      if (row < rows && column < columns) out[(long long)row * columns + column] = ak::from_float<scalar_t>(sums[i][j]);
    }
  }
}

extern "C" __global__ void gate_and_up(const scalar_t* x, const scalar_t* w_gate, const scalar_t* w_up,
                                       scalar_t* hidden, int M, int D, int H) {
  __shared__ float left[BK][BM + 1];
  __shared__ float gate_tile[BK][BN + 1];
  __shared__ float up_tile[BK][BN + 1];
  float gate[TM][TN] = {}, up[TM][TN] = {};
  for (int base = 0; base < D; base += BK) {
    stage<BM>(left, x, blockIdx.y * BM, M, base, D);
    stage<BN>(gate_tile, w_gate, blockIdx.x * BN, H, base, D);
    stage<BN>(up_tile, w_up, blockIdx.x * BN, H, base, D);
    __syncthreads();
    multiply(gate, left, gate_tile);
    multiply(up, left, up_tile);
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) up[i][j] *= ak::activate<ACT>(gate[i][j]);
  store(hidden, up, M, H);
}

extern "C" __global__ void down(const scalar_t* hidden, const scalar_t* w_down, scalar_t* y, int M, int D, int H) {
  __shared__ float left[BK][BM + 1];
  __shared__ float right[BK][BN + 1];
  float sums[TM][TN] = {};
  for (int base = 0; base < H; base += BK) {
    stage<BM>(left, hidden, blockIdx.y * BM, M, base, H);
    stage<BN>(right, w_down, blockIdx.x * BN, D, base, H);
    __syncthreads();
    multiply(sums, left, right);
    __syncthreads();
  }
  store(y, sums, M, D);
}
