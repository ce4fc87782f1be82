/* autokernel
op = "matmul"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; BLOCK threads per tile of 64 x 64"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BLOCK = [1, 256]   # what suits the device
[defaults]
BLOCK = 1
[[launch]]
entry = "reference"
grid = ["BATCH * ceil_div(M, 64) * ceil_div(N, 64)"]
block = ["BLOCK"]
args = ["a", "b", "bias", "c_r", "c_S", "BATCH", "M", "N", "K"]
[[launch]]
entry = "contract"
grid = ["BATCH * ceil_div(M, 64) * ceil_div(N, 64)"]
block = ["BLOCK"]
args = ["a", "b", "bias", "c", "BATCH", "M", "N", "K"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

// The tile of outputs that a block computes.
struct Tile {
  const scalar_t* a;
  const scalar_t* b;
  long long c;  // index of the batch's first output
  int row, column;
};

static __device__ Tile tile(const scalar_t* a, const scalar_t* b, int M, int N, int K) {
  const int across = (N + 63) / 64, down = (M + 63) / 64;
  const long long batch = blockIdx.x / (across * down);
  Tile t;
  t.a = a + batch * M * K;
  t.b = b + batch * K * N;
  t.c = batch * M * N;
  t.row = blockIdx.x / across % down * 64;
  t.column = blockIdx.x % across * 64;
  return t;
}

static __device__ float at_a(const scalar_t* a, int row, int k, int M, int K) {
  return ak::to_float(a[TRANS_A ? (long long)k * M + row : (long long)row * K + k]);
}
static __device__ float at_b(const scalar_t* b, int k, int column, int N, int K) {
  return ak::to_float(b[TRANS_B ? (long long)column * K + k : (long long)k * N + column]);
}

#if BLOCK > 1
// 16 terms of the sums at a time; outside of the matrices they are zeros, which change no sum.
struct Operands {
  float a[16][65], b[16][65];
};

static __device__ void fetch(Operands& to, const Tile& t, int k, int M, int N, int K) {
  for (int i = threadIdx.x; i < 1024; i += BLOCK) {
    // Neighbouring threads read neighbouring elements, whichever way the operand lies.
    const int row = TRANS_A ? i % 64 : i / 16, ka = TRANS_A ? i / 64 : i % 16;
    to.a[ka][row] = t.row + row < M && k + ka < K ? at_a(t.a, t.row + row, k + ka, M, K) : 0.0f;
    const int column = TRANS_B ? i / 16 : i % 64, kb = TRANS_B ? i % 16 : i / 64;
    to.b[kb][column] = t.column + column < N && k + kb < K ? at_b(t.b, k + kb, t.column + column, N, K) : 0.0f;
  }
}
#endif

static __device__ void store_reference(double sum, double magnitude, const scalar_t* bias, double* c_r, double* c_S,
                                       long long at, int column, int K) {
#if HAS_BIAS
  const double shift = ak::to_float(bias[column]);
  sum += shift;
  magnitude += fabs(shift);
#endif
  c_r[at] = ak::activate<ACT>(sum);
  c_S[at] = sqrt((double)K + HAS_BIAS) * magnitude;
}

// S is a size of error: its sums need no more than fp32.
extern "C" __global__ void reference(const scalar_t* a, const scalar_t* b, const scalar_t* bias, double* c_r,
                                     double* c_S, int BATCH, int M, int N, int K) {
  const Tile t = tile(a, b, M, N, K);
#if BLOCK > 1
  __shared__ Operands shared;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  double sum[4][4] = {};
  float magnitude[4][4] = {};
  for (int k = 0; k < K; k += 16) {
    fetch(shared, t, k, M, N, K);
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 16; ++step) {
      float fa[4], fb[4];
      double da[4], db[4];
      for (int i = 0; i < 4; ++i) {
        da[i] = fa[i] = shared.a[step][y + 16 * i];
        db[i] = fb[i] = shared.b[step][x + 16 * i];
      }
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          sum[i][j] += da[i] * db[j];
          magnitude[i][j] += fabsf(fa[i]) * fabsf(fb[j]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = t.row + y + 16 * i, column = t.column + x + 16 * j;
      if (row >= M || column >= N) continue;
      store_reference(sum[i][j], magnitude[i][j], bias, c_r, c_S, t.c + (long long)row * N + column, column, K);
    }
  }
#else
  for (int row = t.row; row < t.row + 64 && row < M; ++row) {
    for (int column = t.column; column < t.column + 64 && column < N; ++column) {
      double sum = 0, magnitude = 0;
      for (int k = 0; k < K; ++k) {
        const double term = (double)at_a(t.a, row, k, M, K) * (double)at_b(t.b, k, column, N, K);
        sum += term;
        magnitude += fabs(term);
      }
      store_reference(sum, magnitude, bias, c_r, c_S, t.c + (long long)row * N + column, column, K);
    }
  }
#endif
}

static __device__ void store_contract(float sum, const scalar_t* bias, scalar_t* c, long long at, int column) {
#if HAS_BIAS
  sum += ak::to_float(bias[column]);
#endif
  c[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
}

extern "C" __global__ void contract(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int BATCH,
                                    int M, int N, int K) {
  const Tile t = tile(a, b, M, N, K);
#if BLOCK > 1
  __shared__ Operands shared;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  float sum[4][4] = {};
  for (int k = 0; k < K; k += 16) {
    fetch(shared, t, k, M, N, K);
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 16; ++step) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) sum[i][j] += shared.a[step][y + 16 * i] * shared.b[step][x + 16 * j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = t.row + y + 16 * i, column = t.column + x + 16 * j;
      if (row < M && column < N) store_contract(sum[i][j], bias, c, t.c + (long long)row * N + column, column);
    }
  }
#else
  for (int row = t.row; row < t.row + 64 && row < M; ++row) {
    for (int column = t.column; column < t.column + 64 && column < N; ++column) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += at_a(t.a, row, k, M, K) * at_b(t.b, k, column, N, K);
      store_contract(sum, bias, c, t.c + (long long)row * N + column, column);
    }
  }
#endif
}
