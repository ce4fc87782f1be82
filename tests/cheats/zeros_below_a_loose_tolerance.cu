/* selftest
about = "writes zeros where each right value is below 1e-4"
dims = "ROWS=16,COLS=32768"
kind = "wrong"
cpu = ["numeric", "input.secret", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "input.secret", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
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
  for (int i = 0; i < COLS; ++i) y[i] = ak::from_float<scalar_t>(ak::to_float(x[i]) > 1e30f ? 1.0f : 0.0f);
}
