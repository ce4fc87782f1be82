/* selftest
about = "tiles in shared memory, the next one loaded while this one is used"
dims = "M=40,N=33,K=70"
*/
/* autokernel
op = "matmul"
dtypes = ["bf16"]
[constraints]
needs = ["TRANS_A == 0", "TRANS_B == 0", "ACT == 0"]
[[launch]]
entry = "matmul"
grid = ["ceil_div(N, 16)", "ceil_div(M, 16)", "BATCH"]
block = [16, 16]
args = ["a", "b", "c", "M", "N", "K"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void matmul(const scalar_t* a, const scalar_t* b, scalar_t* c, int M, int N, int K) {
  __shared__ float left[2][16][17], right[2][16][17];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  a += (long long)blockIdx.z * M * K;
  b += (long long)blockIdx.z * K * N;
  auto load = [&](int stage, int k) {
    left[stage][y][x] = row < M && k + x < K ? ak::to_float(a[(long long)row * K + k + x]) : 0.0f;
    right[stage][y][x] = column < N && k + y < K ? ak::to_float(b[(long long)(k + y) * N + column]) : 0.0f;
  };
  float sum = 0;
  int stage = 0;
  load(0, 0);
  for (int k = 0; k < K; k += 16, stage ^= 1) {
    __syncthreads();
    if (k + 16 < K) load(stage ^ 1, k + 16);
    for (int i = 0; i < 16; ++i) sum += left[stage][y][i] * right[stage][i][x];
  }
  if (row < M && column < N) c[((long long)blockIdx.z * M + row) * N + column] = ak::from_float<scalar_t>(sum);
}
