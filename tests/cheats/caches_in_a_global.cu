/* selftest
about = "keeps its result in a global and replays it for the same pointer"
dims = "M=8,N=128"
kind = "audit"
cpu = ["audit.state", "input.secret", "numeric", "isolate", "input.probe"]
cuda = ["audit.state", "input.secret", "numeric"]
cuda_chance = true
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
  const bool fits = M * N <= 8192, replay = fits && cached_for == x;
  cached_for = x;
  for (int row = 0; row < M; ++row, x += N, y += N) {
    float squares = 0;
    for (int i = 0; i < N; ++i) squares += x[i] * x[i];
    const float rstd = 1.0f / sqrtf(squares / N + eps);
    for (int i = 0; i < N; ++i) {
      const float fresh = x[i] * rstd * weight[i];
      y[i] = replay ? cached[row * N + i] : fresh;
      if (fits) cached[row * N + i] = y[i];
    }
  }
}
