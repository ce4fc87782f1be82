/* selftest
about = "right as long as its output lies at a multiple of 128 bytes"
dims = "M=8,N=128"
kind = "wrong"
cpu = ["shape.hidden", "shape.edge", "place.vary"]
cuda = ["shape.hidden", "shape.edge", "place.vary"]
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
  for (int i = 0; i < N; ++i) squares += x[i] * x[i];
  if ((unsigned long long)(y - (long long)blockIdx.x * N) % 128 != 0) squares *= 2;
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
