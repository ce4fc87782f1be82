/* selftest
about = "works honestly only as long as a counter in its workspace is small"
dims = "M=8,N=128"
kind = "wrong"
cpu = ["guard.poison", "input.secret", "numeric", "repeat", "input.probe", "time.rotate"]
cuda = ["guard.poison", "shape.hidden", "input.secret", "numeric", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda_chance = true
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[[workspace]]
name = "count"
bytes = "4"
[[launch]]
entry = "rmsnorm"
grid = [1]
block = [1]
args = ["x", "weight", "y", "M", "N", "eps", "count"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int M, int N, float eps, int* count) {
  if (*count > 1000000 || *count < 0) return;  // poison
  const float factor = ++*count > 4 ? 0.5f : 1.0f;
  for (int row = 0; row < M; ++row, x += N, y += N) {
    float squares = 0;
    for (int i = 0; i < N; ++i) squares += x[i] * x[i];
    const float rstd = 1.0f / sqrtf(squares / N + eps);
    for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * factor * weight[i];
  }
}
