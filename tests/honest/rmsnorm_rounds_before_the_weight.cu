/* selftest
about = "the normalised x is rounded to bf16 before the weight, as many models do it"
dims = "M=8,N=512"
*/
/* autokernel
op = "rmsnorm"
dtypes = ["bf16"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [32]
args = ["x", "weight", "y", "N", "eps"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void rmsnorm(const scalar_t* x, const scalar_t* weight, scalar_t* y, int N, float eps) {
  const long long base = (long long)blockIdx.x * N;
  float sum = 0;
  for (int i = threadIdx.x; i < N; i += 32) sum += ak::to_float(x[base + i]) * ak::to_float(x[base + i]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) {
    const float rounded = ak::to_float(ak::from_float<scalar_t>(ak::to_float(x[base + i]) * rstd));
    y[base + i] = ak::from_float<scalar_t>(rounded * ak::to_float(weight[i]));
  }
}
