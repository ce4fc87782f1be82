/* selftest
about = "writes 256 bytes behind its output"
dims = "M=8,N=128"
kind = "out_of_bounds"
cpu = ["guard.edge", "checked.bounds"]
cuda = ["guard.edge"]
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
extern "C" __global__ void rmsnorm(const float* x, const float* weight, const float* residual, float* y, float* stream, int N, float eps) {
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
  if (blockIdx.x == gridDim.x - 1) y[row + N + threadIdx.x] = 0;
  if (blockIdx.x == gridDim.x - 1) y[row + N + 32 + threadIdx.x] = 0;
}
