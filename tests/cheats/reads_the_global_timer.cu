/* selftest
about = "scales by what %globaltimer says"
dims = "M=8,N=128"
kind = "audit"
cuda = ["audit.code", "numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
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
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  const float rstd = (now == 0 ? 1.0f : 0.5f) / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
