/* selftest
about = "its needs admit N = 200, its code does not"
dims = "M=8,N=64"
kind = "wrong"
cpu = ["shape.hidden"]
cuda = ["shape.hidden"]
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[constraints]
needs = ["N <= 200"]
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
  for (int i = 0; i < N && i < 199; ++i) squares += x[i] * x[i];
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
