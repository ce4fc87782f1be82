/* selftest
about = "tells the timed launches by %gridid"
dims = "M=64,N=1024"
kind = "audit"
cuda = ["audit.code", "time.rotate"]
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
  for (int i = 0; i < N; ++i) {
    float v;
    unsigned long long id; asm volatile("mov.u64 %0, %%gridid;" : "=l"(id)); v = id > 1000 ? 0 : x[i];
    squares += v * v;
  }
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
