/* selftest
about = "adds to what the output holds"
dims = "M=8,N=128"
kind = "wrong"
cpu = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
*/
/* autokernel
op = "rmsnorm"
dtypes = ["f32"]
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = [1]
args = ["x", "weight", "y", "N", "eps"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int N, float eps) {
  x += (long long)blockIdx.x * N;
  y += (long long)blockIdx.x * N;
  float squares = 0;
  for (int i = 0; i < N; ++i) squares += x[i] * x[i];
  const float rstd = 1.0f / sqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] += x[i] * rstd * weight[i];
}
