/* selftest
about = "adds exponentials that were rounded to half precision"
dims = "ROWS=64,COLS=512"
kind = "wrong"
cpu = ["numeric", "shape.hidden", "shape.timed", "repeat", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "shape.hidden", "shape.timed", "repeat", "place.vary", "isolate", "input.probe", "time.rotate"]
*/
/* autokernel
op = "softmax"
dtypes = ["f16"]
[[launch]]
entry = "softmax"
grid = ["ROWS"]
block = [1]
args = ["x", "y", "COLS", "scale"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void softmax(const scalar_t* x, scalar_t* y, int COLS, float scale) {
  x += (long long)blockIdx.x * COLS;
  y += (long long)blockIdx.x * COLS;
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < COLS; ++i) largest = fmaxf(largest, scale * ak::to_float(x[i]));
  for (int i = 0; i < COLS; ++i) sum += ak::to_float(ak::from_float<scalar_t>(expf(scale * ak::to_float(x[i]) - largest)));
  for (int i = 0; i < COLS; ++i) {
    const float p = ak::to_float(ak::from_float<scalar_t>(expf(scale * ak::to_float(x[i]) - largest)));
    y[i] = ak::from_float<scalar_t>(p / sum);
  }
}
