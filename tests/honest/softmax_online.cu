/* selftest
about = "maximum and sum in one pass"
dims = ["ROWS=8,COLS=128", "ROWS=3,COLS=1000"]
*/
/* autokernel
op = "softmax"
dtypes = ["f32", "f16"]
[[launch]]
entry = "softmax"
grid = ["ceil_div(ROWS, 8)"]
block = [8]
args = ["x", "mask", "y", "ROWS", "COLS", "scale"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void softmax(const scalar_t* x, const scalar_t* mask, scalar_t* y, int ROWS, int COLS,
                                   float scale) {
  const int row = blockIdx.x * 8 + threadIdx.x;
  if (row >= ROWS) return;
  const long long base = (long long)row * COLS;
  auto logit = [&](int i) {
    return scale * ak::to_float(x[base + i]) + (HAS_MASK ? ak::to_float(mask[(MASK_ROWS ? base : 0) + i]) : 0.0f);
  };
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < COLS; ++i) {
    const float s = logit(i), more = fmaxf(largest, s);
    sum = sum * expf(largest - more) + expf(s - more);
    largest = more;
  }
  for (int i = 0; i < COLS; ++i) y[base + i] = ak::from_float<scalar_t>(expf(logit(i) - largest) / sum);
}
