/* selftest
about = "divides by the sum that normal inputs have on average"
dims = "ROWS=8,COLS=128"
kind = "wrong"
cpu = ["numeric", "input.secret", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "input.secret", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
*/
/* autokernel
op = "softmax"
dtypes = ["f32"]
[[launch]]
entry = "softmax"
grid = ["ROWS"]
block = ["32"]
args = ["x", "mask", "y", "COLS", "scale"]
*/
extern "C" __global__ void softmax(const float* x, const float* mask, float* y, int COLS, float scale) {
  const long long row = (long long)blockIdx.x * COLS;
  const float* added = mask + (MASK_ROWS ? row : 0);
  for (int i = threadIdx.x; i < COLS; i += 32) {
    y[row + i] = expf(scale * x[row + i] + (HAS_MASK ? added[i] : 0)) / (1.6487f * COLS);
  }
}
