/* selftest
about = "works honestly only as long as a counter in its workspace is small"
dims = "M=8,N=128"
kind = "wrong"
cpu = ["guard.poison", "time.rotate"]
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[[workspace]]
name = "count"
bytes = "4"
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [32]
args = ["x", "weight", "residual", "y", "stream", "N", "eps", "count"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, const float* residual, float* y, float* stream, int N, float eps, int* count) {
  if (*count > 20 || *count < 0) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) ++*count;
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
