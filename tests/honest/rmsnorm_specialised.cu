/* selftest
about = "N compiled in, the row in registers"
dims = "M=8,N=96"
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
specialize = ["N"]
[constraints]
needs = ["N <= 512"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [32]
args = ["x", "weight", "y", "eps"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, float eps) {
  constexpr int kEach = (kN + 31) / 32;
  float v[kEach];
  float sum = 0;
  for (int k = 0; k < kEach; ++k) {
    const int i = k * 32 + threadIdx.x;
    v[k] = i < kN ? x[(long long)blockIdx.x * kN + i] : 0.0f;
    sum += v[k] * v[k];
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float rstd = rsqrtf(sum / kN + eps);
  for (int k = 0; k < kEach; ++k) {
    const int i = k * 32 + threadIdx.x;
    if (i < kN) y[(long long)blockIdx.x * kN + i] = v[k] * rstd * weight[i];
  }
}
