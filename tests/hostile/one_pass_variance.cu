// mean(x^2) - mean(x)^2: right until the mean is many deviations.
// expect: wrong shape.timed
// dims: M=8,N=256
/* autokernel
op = "layernorm"
dtypes = ["f32"]
[[launch]]
entry = "layernorm"
grid = ["M"]
block = [1]
args = ["x", "weight", "bias", "y", "N", "eps"]
*/
extern "C" __global__ void layernorm(const float* x, const float* weight, const float* bias, float* y, int N, float eps) {
  const long long row = (long long)blockIdx.x * N;
  float sum = 0, squares = 0;
  for (int i = 0; i < N; ++i) {
    sum += x[row + i];
    squares += x[row + i] * x[row + i];
  }
  const float mean = sum / N, rstd = 1.0f / sqrtf(fmaxf(squares / N - mean * mean, 0) + eps);
  for (int i = 0; i < N; ++i) y[row + i] = (x[row + i] - mean) * rstd * weight[i] + bias[i];
}
