/* selftest
about = "leaves out what is beyond whole pieces of 256"
dims = "ROWS=8,COLS=1024"
kind = "wrong"
cpu = ["numeric", "input.secret", "shape.hidden", "shape.edge", "place.vary", "isolate", "input.probe"]
cuda = ["numeric", "input.secret", "shape.hidden", "shape.edge", "place.vary", "isolate", "input.probe"]
*/
/* autokernel
op = "reduce"
dtypes = ["f32"]
[[workspace]]
name = "parts"
bytes = "32 * ROWS"
[[workspace]]
name = "arrived"
bytes = "4 * ROWS"
zeroed = true
[[launch]]
entry = "reduce"
grid = ["8", "ROWS"]
block = [32]
args = ["x", "y", "parts", "arrived", "COLS"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void reduce(const scalar_t* x, scalar_t* y, float* parts, int* arrived, int COLS) {
  const int row = blockIdx.y;
  x += (long long)row * COLS;
  float sum = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < COLS / 256 * 256; i += 256) sum += ak::to_float(x[i]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x != 0) return;
  parts[row * 8 + blockIdx.x] = sum;
  __threadfence();
  if (atomicAdd(&arrived[row], 1) != 7) return;
  __threadfence();
  float whole = 0;
  for (int i = 0; i < 8; ++i) whole += parts[row * 8 + i];
  y[row] = ak::from_float<scalar_t>(whole);
  arrived[row] = 0;
}
