/* selftest
about = "keeps its result in a global and replays it for the same pointer"
dims = "M=8,N=128"
kind = "audit"
cpu = ["audit.state", "input.secret", "numeric", "isolate", "input.probe", "floor"]
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[[launch]]
entry = "rmsnorm"
grid = [1]
block = [1]
args = ["x", "weight", "y", "M", "N", "eps"]
*/
__device__ float cached[8192];
__device__ const float* cached_for;

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int M, int N, float eps) {
  const bool fits = M * N <= 8192;
  if (fits && cached_for == x) {
    for (int i = 0; i < M * N; ++i) y[i] = cached[i];
    return;
  }
  cached_for = x;
  for (int row = 0; row < M; ++row, x += N, y += N) {
    float squares = 0;
    for (int i = 0; i < N; ++i) squares += x[i] * x[i];
    const float rstd = 1.0f / sqrtf(squares / N + eps);
    for (int i = 0; i < N; ++i) {
      y[i] = x[i] * rstd * weight[i];
      if (fits) cached[row * N + i] = y[i];
    }
  }
}
