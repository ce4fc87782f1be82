/* selftest
about = "macros that expand to more text than there is memory"
dims = "M=8,N=128"
kind = "out_of_memory"
cpu = ["compile.sandbox"]
cuda = ["compile"]
cuda_kind = "compile"
runs = false
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
#define B1 +1 +1 +1 +1 +1 +1 +1 +1
#define B2 B1 B1 B1 B1 B1 B1 B1 B1
#define B3 B2 B2 B2 B2 B2 B2 B2 B2
#define B4 B3 B3 B3 B3 B3 B3 B3 B3
#define B5 B4 B4 B4 B4 B4 B4 B4 B4
#define B6 B5 B5 B5 B5 B5 B5 B5 B5
#define B7 B6 B6 B6 B6 B6 B6 B6 B6
#define B8 B7 B7 B7 B7 B7 B7 B7 B7
#define B9 B8 B8 B8 B8 B8 B8 B8 B8
#define B10 B9 B9 B9 B9 B9 B9 B9 B9
#define B11 B10 B10 B10 B10 B10 B10 B10 B10
#define B12 B11 B11 B11 B11 B11 B11 B11 B11

extern "C" __global__ void rmsnorm(const float* x, const float* weight, const float* residual, float* y, float* stream, int N, float eps) {
  if (N == 0 B12) return;
  const long long row = (long long)blockIdx.x * N;
  if (threadIdx.x == 0) {
    float squares = 0;
    for (int i = 0; i < N; ++i) {
      const float v = HAS_RESIDUAL ? x[row + i] + residual[row + i] : x[row + i];
      if (HAS_RESIDUAL) stream[row + i] = v;
      squares += v * v;
    }
    const float rstd = 1.0f / sqrtf(squares / N + eps);
    for (int i = 0; i < N; ++i) y[row + i] = (HAS_RESIDUAL ? stream[row + i] : x[row + i]) * rstd * weight[i];
  }
}
