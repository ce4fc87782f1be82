/* selftest
about = "the kernel is honest; the device's timer says a ten thousandth of the time"
dims = "M=256,N=1024"
cuda_dims = "M=1024,N=4096"
kind = "implausible"
cpu = ["time.clock", "floor"]
cuda = ["time.clock", "floor"]
clock_skew = 10000
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
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
