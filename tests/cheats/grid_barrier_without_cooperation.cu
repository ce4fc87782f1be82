/* selftest
about = "all of its blocks wait for each other, which are not resident"
dims = "M=8192,N=64"
kind = "timeout"
cpu = ["fault"]
cuda = ["fault"]
runs = false
hangs = true
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[constraints]
needs = ["M >= 256"]
[[workspace]]
name = "arrived"
bytes = "4"
zeroed = true
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [1]
args = ["x", "weight", "y", "arrived", "N", "eps"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int* arrived, int N, float eps) {
  x += (long long)blockIdx.x * N;
  y += (long long)blockIdx.x * N;
  float squares = 0;
  for (int i = 0; i < N; ++i) squares += x[i] * x[i];
  atomicAdd(arrived, 1);
  while (*(volatile int*)arrived < (int)gridDim.x) __nanosleep(100);
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
