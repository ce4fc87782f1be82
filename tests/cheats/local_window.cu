/* selftest
about = "normalises every 512 columns by themselves"
dims = "ROWS=16,COLS=1024"
kind = "wrong"
cpu = ["shape.hidden", "shape.timed", "repeat", "shape.edge", "time.rotate"]
cuda = ["shape.hidden", "shape.timed", "repeat", "shape.edge", "time.rotate"]
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
  for (int begin = 0; begin < COLS; begin += 512) {
    const int end = min(COLS, begin + 512);
    float largest = -INFINITY, sum = 0;
    for (int i = begin; i < end; ++i) largest = fmaxf(largest, scale * ak::to_float(x[i]));
    for (int i = begin; i < end; ++i) sum += expf(scale * ak::to_float(x[i]) - largest);
    for (int i = begin; i < end; ++i) {
      y[i] = ak::from_float<scalar_t>(expf(scale * ak::to_float(x[i]) - largest) / sum);
    }
  }
}
