/* selftest
about = "counts its launches in a global; honest until it has been checked"
dims = "M=8,N=128"
kind = "audit"
cpu = ["audit.state", "time.rotate"]
cuda = ["audit.state", "input.secret", "time.rotate"]
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
__device__ int launches;

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int M, int N, float eps) {
  const float factor = ++launches > 12 ? 0.5f : 1.0f;
  for (int row = 0; row < M; ++row, x += N, y += N) {
    float squares = 0;
    for (int i = 0; i < N; ++i) squares += x[i] * x[i];
    const float rstd = 1.0f / sqrtf(squares / N + eps);
    for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * factor * weight[i];
  }
}
