/* selftest
about = "a barrier of the whole grid between the sums and the scaling"
dims = "M=6,N=256"
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[constraints]
needs = ["M <= 64"]
[[workspace]]
name = "parts"
bytes = "16 * M"
[[workspace]]
name = "arrived"
bytes = "4"
zeroed = true
[[launch]]
entry = "rmsnorm"
grid = [4]
block = [32]
cooperative = true
args = ["x", "weight", "y", "parts", "arrived", "M", "N", "eps"]
*/
#include "autokernel/device/grid.cuh"

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, float* parts, unsigned* arrived,
                                   int M, int N, float eps) {
  const int thread = blockIdx.x * 32 + threadIdx.x;
  for (int row = 0; row < M; ++row) {
    float sum = 0;
    for (int i = thread; i < N; i += 128) sum += x[(long long)row * N + i] * x[(long long)row * N + i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (threadIdx.x == 0) parts[row * 4 + blockIdx.x] = sum;
  }
  ak::sync_grid(arrived);
  for (int row = 0; row < M; ++row) {
    const float* p = parts + row * 4;
    const float rstd = rsqrtf((p[0] + p[1] + p[2] + p[3]) / N + eps);
    for (int i = thread; i < N; i += 128) y[(long long)row * N + i] = x[(long long)row * N + i] * rstd * weight[i];
  }
}
