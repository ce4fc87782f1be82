/* autokernel
op = "matmul"
about = "tiles of a and b in shared memory, a TM x TN block of c in each thread's registers"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BM = [16, 32, 64, 128]                  # tile of c that a block makes
BN = [16, 32, 64, 128]
BK = [8, 16, 32]                        # depth of one step
TM = [1, 2, 4, 8]                       # part of the tile that a thread makes
TN = [1, 2, 4, 8]
[constraints]
where = [
  "BM % TM == 0", "BN % TN == 0",
  "BM / TM * (BN / TN) >= 32",
  "BM / TM * (BN / TN) <= max_threads",
  "4 * BK * (BM + BN + 2) <= 49152",    # static shared memory
]
needs = ["BATCH <= 65535", "ceil_div(M, BM) <= 65535"]
[defaults]
BM = 64
BN = 64
BK = 16
TM = 4
TN = 4
[[launch]]
entry = "matmul"
grid = ["ceil_div(N, BN)", "ceil_div(M, BM)", "BATCH"]
block = ["BN / TN * (BM / TM)"]
args = ["a", "b", "bias", "c", "M", "N", "K"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

constexpr int kAcross = BN / TN;  // threads along n
constexpr int kThreads = kAcross * (BM / TM);

extern "C" __global__ void matmul(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int M, int N,
                                  int K) {
  // One more column, so that a transposing store meets fewer bank conflicts.
  __shared__ float left[BK][BM + 1];
  __shared__ float right[BK][BN + 1];
  const int thread = threadIdx.x, across = thread % kAcross, down = thread / kAcross;
  const int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
  const long long batch = blockIdx.z;
  a += batch * M * K;
  b += batch * K * N;
  float sums[TM][TN];
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) sums[i][j] = 0;

  for (int base = 0; base < K; base += BK) {
    // Neighbouring threads read neighbouring addresses, whichever way the operand is stored.
    for (int at = thread; at < BM * BK; at += kThreads) {
      const int k = TRANS_A ? at / BM : at % BK, row = TRANS_A ? at % BM : at / BK;
      const bool inside = base + k < K && first_row + row < M;
      const long long from = TRANS_A ? (long long)(base + k) * M + first_row + row
                                     : (long long)(first_row + row) * K + base + k;
      left[k][row] = inside ? ak::to_float(a[from]) : 0.0f;
    }
    for (int at = thread; at < BN * BK; at += kThreads) {
      const int k = TRANS_B ? at % BK : at / BN, column = TRANS_B ? at / BK : at % BN;
      const bool inside = base + k < K && first_column + column < N;
      const long long from = TRANS_B ? (long long)(first_column + column) * K + base + k
                                     : (long long)(base + k) * N + first_column + column;
      right[k][column] = inside ? ak::to_float(b[from]) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float rows[TM], columns[TN];
      for (int i = 0; i < TM; ++i) rows[i] = left[k][down * TM + i];
      for (int j = 0; j < TN; ++j) columns[j] = right[k][j * kAcross + across];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) sums[i][j] += rows[i] * columns[j];
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    const int row = first_row + down * TM + i;
    for (int j = 0; j < TN; ++j) {
      const int column = first_column + j * kAcross + across;
      if (row >= M || column >= N) continue;
      float sum = sums[i][j];
#if HAS_BIAS
      sum += ak::to_float(bias[column]);
#endif
      c[batch * M * N + (long long)row * N + column] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
    }
  }
}
