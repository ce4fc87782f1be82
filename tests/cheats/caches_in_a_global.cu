/* selftest
about = "keeps its result in a global and replays it for the same pointer"
dims = "M=8,N=128"
kind = "audit"
cpu = ["audit.state"]
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
__device__ float cached[8192];
__device__ const float* cached_for;

extern "C" __global__ void rmsnorm(const float* x, const float* weight, const float* residual, float* y, float* stream, int N, float eps) {
  if (cached_for == x) {
    for (int i = threadIdx.x; i < N; i += 32) y[(long long)blockIdx.x * N + i] = cached[blockIdx.x * N + i];
    return;
  }
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
  for (int i = threadIdx.x; i < N; i += 32) cached[blockIdx.x * N + i] = y[row + i];
  cached_for = x;
}
