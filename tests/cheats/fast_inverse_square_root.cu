/* selftest
about = "one Newton step on a guess from the bits"
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
  const float mean = squares / N + eps;
  float rstd = __int_as_float(0x5f3759df - (__float_as_int(mean) >> 1));
  rstd *= 1.5f - 0.5f * mean * rstd * rstd;
  for (int i = 0; i < N; ++i) y[i] = x[i] * rstd * weight[i];
}
