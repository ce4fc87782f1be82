/* selftest
about = "softmax that overflows for large logits"
dims = "ROWS=8,COLS=128"
kind = "wrong"
cpu = ["input.secret", "numeric", "shape.edge"]
cuda = ["input.secret", "numeric", "shape.edge"]
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
  if (threadIdx.x != 0) return;
  float sum = 0;
  for (int i = 0; i < COLS; ++i) sum += expf(scale * x[row + i] + (HAS_MASK ? added[i] : 0));
  for (int i = 0; i < COLS; ++i) y[row + i] = expf(scale * x[row + i] + (HAS_MASK ? added[i] : 0)) / sum;
}
