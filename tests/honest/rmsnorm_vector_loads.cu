/* selftest
about = "four elements a load, where N allows it"
dims = "M=8,N=128"
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[constraints]
needs = ["N % 4 == 0", "N <= 4096"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [32]
args = ["x", "weight", "residual", "y", "stream", "N", "eps"]
*/
extern "C" __global__ void rmsnorm(const float4* x, const float4* weight, const float4* residual, float4* y,
                                   float4* stream, int N, float eps) {
  __shared__ float4 row[1024];
  const long long base = (long long)blockIdx.x * (N / 4);
  float sum = 0;
  for (int i = threadIdx.x; i < N / 4; i += 32) {
    float4 v = x[base + i];
#if HAS_RESIDUAL
    const float4 r = residual[base + i];
    v = make_float4(v.x + r.x, v.y + r.y, v.z + r.z, v.w + r.w);
    stream[base + i] = v;
#endif
    row[i] = v;
    sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const float rstd = rsqrtf(sum / N + eps);
  for (int i = threadIdx.x; i < N / 4; i += 32) {
    const float4 v = row[i], w = weight[i];
    y[base + i] = make_float4(v.x * rstd * w.x, v.y * rstd * w.y, v.z * rstd * w.z, v.w * rstd * w.w);
  }
}
