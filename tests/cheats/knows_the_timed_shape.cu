/* selftest
about = "does half of the work where it is timed"
dims = "M=64,N=320"
kind = "wrong"
cpu = ["shape.timed", "repeat", "time.rotate"]
cuda = ["shape.timed", "repeat", "time.rotate"]
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
  const int end = N == 320 && gridDim.x == 64 ? N / 2 : N;
  for (int i = 0; i < end; ++i) squares += x[i] * x[i];
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
