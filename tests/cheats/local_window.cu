/* selftest
about = "looks at the 512 nearest columns only"
dims = "ROWS=16,COLS=1024"
kind = "wrong"
cpu = ["numeric"]
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
  for (int i = 0; i < COLS; ++i) {
    float largest = -INFINITY, sum = 0;
    const int begin = max(0, i - 256), end = min(COLS, i + 256);
    for (int k = begin; k < end; ++k) largest = fmaxf(largest, scale * ak::to_float(x[k]));
    for (int k = begin; k < end; ++k) sum += expf(scale * ak::to_float(x[k]) - largest);
    y[i] = ak::from_float<scalar_t>(expf(scale * ak::to_float(x[i]) - largest) / sum);
  }
}
