/* selftest
about = "writes NaNs"
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
block = [32]
args = ["x", "weight", "residual", "y", "stream", "N", "eps"]
*/
extern "C" __global__ void rmsnorm(const float* x, const float* weight, const float* residual, float* y, float* stream, int N, float eps) {
  for (int i = threadIdx.x; i < N; i += 32) {
    y[(long long)blockIdx.x * N + i] = __int_as_float(0x7fc00000);
    if (HAS_RESIDUAL) stream[(long long)blockIdx.x * N + i] = __int_as_float(0x7fc00000);
  }
}
