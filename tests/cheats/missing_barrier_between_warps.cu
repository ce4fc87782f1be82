/* selftest
about = "the first warp adds what the others wrote, without a barrier in between"
dims = "M=64,N=4096"
kind = "wrong"
cuda = ["numeric"]
cuda_chance = true
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [512]
args = ["x", "weight", "y", "N", "eps"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int N, float eps) {
  __shared__ float partial[512];
  x += (long long)blockIdx.x * N;
  y += (long long)blockIdx.x * N;
  float squares = 0;
  for (int i = threadIdx.x; i < N; i += 512) squares += x[i] * x[i];
  partial[threadIdx.x] = squares;
  if (threadIdx.x == 0) {
    squares = 0;
    for (int i = 511; i >= 0; --i) squares += partial[i];
    partial[0] = squares;
  }
  __syncthreads();
  const float rstd = 1.0f / sqrtf(partial[0] / N + eps);
  for (int i = threadIdx.x; i < N; i += 512) y[i] = x[i] * rstd * weight[i];
}
