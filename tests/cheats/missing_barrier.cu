/* selftest
about = "the last thread adds what the others wrote, without a barrier in between"
dims = "M=8,N=128"
kind = "race"
cpu = ["checked.race"]
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
  __shared__ float partial[32];
  const long long row = (long long)blockIdx.x * N;
  float squares = 0;
  for (int i = threadIdx.x; i < N; i += 32) {
    const float v = HAS_RESIDUAL ? x[row + i] + residual[row + i] : x[row + i];
    if (HAS_RESIDUAL) stream[row + i] = v;
    squares += v * v;
  }
  partial[threadIdx.x] = squares;
  if (threadIdx.x == 31) {
    squares = 0;
    for (int i = 0; i < 32; ++i) squares += partial[i];
    partial[0] = squares;
  }
  __syncthreads();
  const float rstd = 1.0f / sqrtf(partial[0] / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[row + i] = (HAS_RESIDUAL ? stream[row + i] : x[row + i]) * rstd * weight[i];
}
