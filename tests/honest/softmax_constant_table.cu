/* selftest
about = "2^(k/32) from a table in constant memory, the rest by a polynomial"
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
__constant__ float kPowers[32] = {
    1.0f, 1.02189715f, 1.04427378f, 1.0671404f, 1.09050773f, 1.11438674f, 1.13878863f, 1.16372486f,
    1.18920712f, 1.21524736f, 1.24185781f, 1.26905096f, 1.29683955f, 1.32523664f, 1.35425555f, 1.38390988f,
    1.41421356f, 1.44518081f, 1.47682615f, 1.50916443f, 1.54221083f, 1.57598085f, 1.61049033f, 1.64575548f,
    1.68179283f, 1.7186193f, 1.75625216f, 1.79470908f, 1.83400809f, 1.87416763f, 1.91520656f, 1.95714412f
};

__device__ inline float exponential(float x) {  // x <= 0
  if (x < -103.0f) return 0.0f;
  const float k = rintf(x * 46.166241308446828f);  // 32 / ln 2
  float r = fmaf(k, -0.02166080474853515625f, x);  // ln 2 / 32 in two parts
  r = fmaf(k, -4.46439631e-08f, r);
  const float p = fmaf(r, fmaf(r, fmaf(r, fmaf(r, 1.0f / 24, 1.0f / 6), 0.5f), 1.0f), 1.0f);
  const int n = (int)k;
  return ldexpf(kPowers[n & 31] * p, n >> 5);
}

extern "C" __global__ void softmax(const float* x, float* y, int ROWS, int COLS, float scale) {
  const int row = blockIdx.x * 8 + threadIdx.x;
  if (row >= ROWS) return;
  x += (long long)row * COLS;
  y += (long long)row * COLS;
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < COLS; ++i) largest = fmaxf(largest, scale * x[i]);
  for (int i = 0; i < COLS; ++i) sum += exponential(scale * x[i] - largest);
  for (int i = 0; i < COLS; ++i) y[i] = exponential(scale * x[i] - largest) / sum;
}
