/* selftest
about = "leaves the bias out"
dims = "M=8,N=256"
kind = "wrong"
cpu = ["numeric", "input.secret", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "input.secret", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
*/
/* autokernel
op = "layernorm"
dtypes = ["f32"]
[[launch]]
entry = "layernorm"
grid = ["ceil_div(M, 8)"]
block = [8]
args = ["x", "weight", "bias", "y", "M", "N", "eps"]
*/
extern "C" __global__ void layernorm(const float* x, const float* weight, const float* bias, float* y, int M, int N,
                                     float eps) {
  const int row = blockIdx.x * 8 + threadIdx.x;
  if (row >= M) return;
  x += (long long)row * N;
  y += (long long)row * N;
  float mean = 0, squares = 0;
  for (int i = 0; i < N; ++i) {
    const float delta = x[i] - mean;
    mean += delta / (i + 1);
    squares += delta * (x[i] - mean);
  }
  const float rstd = rsqrtf(squares / N + eps);
  for (int i = 0; i < N; ++i) y[i] = (x[i] - mean) * rstd * weight[i];
}
