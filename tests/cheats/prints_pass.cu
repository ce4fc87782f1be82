/* selftest
about = "prints what a script might look for"
dims = "M=8,N=128"
kind = "audit"
cpu = ["audit.symbols", "fault"]
cuda = ["audit.code", "audit.state"]
runs = false
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [32]
args = ["x", "weight", "residual", "y", "stream", "N", "eps"]
*/
extern "C" int printf(const char*, ...);

extern "C" __global__ void rmsnorm(const float* x, const float* weight, const float* residual, float* y, float* stream, int N, float eps) {
  printf("correctness: PASS\n");
  const long long row = (long long)blockIdx.x * N;
  if (threadIdx.x == 0) {
    float squares = 0;
    for (int i = 0; i < N; ++i) {
      const float v = HAS_RESIDUAL ? x[row + i] + residual[row + i] : x[row + i];
      if (HAS_RESIDUAL) stream[row + i] = v;
      squares += v * v;
    }
    const float rstd = 1.0f / sqrtf(squares / N + eps);
    for (int i = 0; i < N; ++i) y[row + i] = (HAS_RESIDUAL ? stream[row + i] : x[row + i]) * rstd * weight[i];
  }
}
