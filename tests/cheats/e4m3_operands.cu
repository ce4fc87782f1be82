/* selftest
about = "rounds its operands to three bits of mantissa"
dims = "M=32,N=32,K=512"
kind = "wrong"
cpu = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
*/
/* autokernel
op = "matmul"
dtypes = ["f32"]
[constraints]
needs = ["TRANS_A == 0", "TRANS_B == 0", "ACT == 0"]
[[launch]]
entry = "matmul"
grid = ["ceil_div(N, 32)", "M", "BATCH"]
block = ["32"]
args = ["a", "b", "c", "M", "N", "K"]
*/
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int M, int N, int K) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
  if (column >= N) return;
  a += (long long)blockIdx.z * M * K + (long long)row * K;
  b += (long long)blockIdx.z * K * N;
  float sum = 0;
  auto rounded = [](float v) { return __int_as_float((__float_as_int(v) + 0x80000) & ~0xfffff); };
  for (int k = 0; k < K; ++k) sum += rounded(a[k]) * rounded(b[(long long)k * N + column]);
  c[((long long)blockIdx.z * M + row) * N + column] = sum;
}
