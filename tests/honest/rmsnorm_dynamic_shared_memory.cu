/* selftest
about = "the row in shared memory whose size the launch declares, a tree over 64 threads"
dims = "M=8,N=200"
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f16"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [64]
shared_bytes = "4 * min(N, 2048) + 256"
args = ["x", "weight", "y", "N", "eps"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void rmsnorm(const scalar_t* x, const scalar_t* weight, scalar_t* y, int N, float eps) {
  extern __shared__ float memory[];
  float* partial = memory;
  float* row = memory + 64;
  x += (long long)blockIdx.x * N;
  y += (long long)blockIdx.x * N;
  float sum = 0;
  for (int i = threadIdx.x; i < N; i += 64) {
    const float v = ak::to_float(x[i]);
    if (i < 2048) row[i] = v;
    sum += v * v;
  }
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  const float rstd = rsqrtf(partial[0] / N + eps);
  for (int i = threadIdx.x; i < N; i += 64) {
    const float v = i < 2048 ? row[i] : ak::to_float(x[i]);
    y[i] = ak::from_float<scalar_t>(v * rstd * ak::to_float(weight[i]));
  }
}
