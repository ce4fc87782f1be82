/* autokernel
op = "reduce"
about = "one block per row, a tree reduction in shared memory"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
[defaults]
THREADS = 128
[[launch]]
entry = "reduce"
grid = ["ROWS"]
block = ["THREADS"]
args = ["x", "y", "COLS"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void reduce(const scalar_t* x, scalar_t* y, int COLS) {
  __shared__ float partial[THREADS];
  const int lane = threadIdx.x;
  const scalar_t* row = x + (long long)blockIdx.x * COLS;

  float sum = 0;
  for (int i = lane; i < COLS; i += THREADS) sum += ak::to_float(row[i]);
  partial[lane] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (lane < half) partial[lane] += partial[lane + half];
    __syncthreads();
  }
  if (lane == 0) y[blockIdx.x] = ak::from_float<scalar_t>(partial[0]);
}
