/* autokernel
op = "bias_gelu"
about = "one thread an element"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256, 512]
[defaults]
THREADS = 128
[[launch]]
entry = "bias_gelu"
grid = ["ceil_div(M * N, THREADS)"]
block = ["THREADS"]
args = ["x", "bias", "y", "M * N", "N"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

extern "C" __global__ void bias_gelu(const scalar_t* x, const scalar_t* bias, scalar_t* y, int count, int N) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < count) y[i] = ak::from_float<scalar_t>(ak::activate<3>(ak::to_float(x[i]) + ak::to_float(bias[i % N])));
}
