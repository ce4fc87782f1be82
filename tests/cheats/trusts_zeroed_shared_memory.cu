/* selftest
about = "adds to shared memory that it clears for its successor"
dims = "M=8,N=128"
kind = "nondeterministic"
cpu = ["repeat", "checked.uninit"]
cuda = ["numeric", "repeat"]
cuda_chance = true
cuda_kind = "wrong"
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [32]
args = ["x", "weight", "y", "N", "eps"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int N, float eps) {
  __shared__ float squares[32];
  x += (long long)blockIdx.x * N;
  y += (long long)blockIdx.x * N;
  for (int i = threadIdx.x; i < N; i += 32) squares[threadIdx.x] += x[i] * x[i];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 32; ++i) sum += squares[i];
  __syncthreads();
  squares[threadIdx.x] = 0;
  const float rstd = 1.0f / sqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N; i += 32) y[i] = x[i] * rstd * weight[i];
}
