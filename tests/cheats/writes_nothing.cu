/* selftest
about = "writes nothing"
dims = "M=8,N=128"
kind = "wrong"
cpu = ["guard.poison", "numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["guard.poison", "numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
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
}
