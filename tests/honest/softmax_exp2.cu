/* selftest
about = "powers of two instead of e, the factor folded into the scale"
dims = "ROWS=8,COLS=128"
*/
/* autokernel
op = "softmax"
dtypes = ["f32"]
[[launch]]
entry = "softmax"
grid = ["ceil_div(ROWS, 8)"]
block = [8]
args = ["x", "y", "ROWS", "COLS", "scale"]
*/
extern "C" __global__ void softmax(const float* x, float* y, int ROWS, int COLS, float scale) {
  const int row = blockIdx.x * 8 + threadIdx.x;
  if (row >= ROWS) return;
  x += (long long)row * COLS;
  y += (long long)row * COLS;
  const float factor = scale * 1.4426950408889634f;
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < COLS; ++i) largest = fmaxf(largest, factor * x[i]);
  for (int i = 0; i < COLS; ++i) sum += exp2f(factor * x[i] - largest);
  for (int i = 0; i < COLS; ++i) y[i] = exp2f(factor * x[i] - largest) / sum;
}
