/* autokernel
op = "matmul"
about = "one thread per element of c, operands read from global memory"
dtypes = ["f32", "f16", "bf16"]
[tunables]
TILE_N = [8, 16, 32, 64]
TILE_M = [1, 2, 4, 8, 16, 32]
[constraints]
needs = ["BATCH <= 65535", "ceil_div(M, TILE_M) <= 65535"]     # limits of a grid
[defaults]
TILE_N = 32
TILE_M = 8
[[launch]]
entry = "matmul"
grid = ["ceil_div(N, TILE_N)", "ceil_div(M, TILE_M)", "BATCH"]
block = ["TILE_N", "TILE_M"]
args = ["a", "b", "bias", "c", "M", "N", "K"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

extern "C" __global__ void matmul(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int M, int N,
                                  int K) {
  const int column = blockIdx.x * TILE_N + threadIdx.x;
  const int row = blockIdx.y * TILE_M + threadIdx.y;
  if (row >= M || column >= N) return;
  const long long batch = blockIdx.z;
  a += batch * M * K;
  b += batch * K * N;
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    const float left = ak::to_float(a[TRANS_A ? (long long)k * M + row : (long long)row * K + k]);
    const float right = ak::to_float(b[TRANS_B ? (long long)column * K + k : (long long)k * N + column]);
    sum += left * right;
  }
#if HAS_BIAS
  sum += ak::to_float(bias[column]);
#endif
  c[batch * M * N + (long long)row * N + column] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
}
