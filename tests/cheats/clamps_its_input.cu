/* selftest
about = "takes no element to be beyond 6"
dims = "M=8,N=128"
kind = "wrong"
cpu = ["input.secret", "numeric", "shape.edge", "input.probe"]
cuda = ["input.secret", "numeric", "shape.edge", "input.probe"]
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [1]
args = ["x", "weight", "y", "N", "eps"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int N, float eps) {
  x += (long long)blockIdx.x * N;
  y += (long long)blockIdx.x * N;
  float squares = 0;
  for (int i = 0; i < N; ++i) squares += fminf(x[i] * x[i], 36.0f);
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
