/* selftest
about = "mean of squares minus square of the mean, which has no digits left at an offset"
dims = "M=8,N=256"
kind = "wrong"
cpu = ["input.secret", "numeric"]
cuda = ["input.secret", "numeric"]
*/
/* autokernel
op = "layernorm"
dtypes = ["f32"]
[[launch]]
entry = "layernorm"
grid = ["ceil_div(M, 8)"]
block = [8]
args = ["x", "weight", "bias", "y", "M", "N", "eps"]
*/
extern "C" __global__ void layernorm(const float* x, const float* weight, const float* bias, float* y, int M, int N,
                                     float eps) {
  const int row = blockIdx.x * 8 + threadIdx.x;
  if (row >= M) return;
  x += (long long)row * N;
  y += (long long)row * N;
  float mean = 0, squares = 0;
  for (int i = 0; i < N; ++i) {
    mean += x[i];
    squares += x[i] * x[i];
  }
  mean /= N;
  squares = fmaxf(0.0f, squares - N * mean * mean);
  const float rstd = rsqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
}
