/* selftest
about = "rounds its operands to ten bits of mantissa"
dims = "M=32,N=32,K=512"
kind = "wrong"
cpu = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
*/
/* autokernel
op = "matmul"
dtypes = ["f32"]
[[launch]]
entry = "matmul"
grid = ["ceil_div(N, 32)", "M", "BATCH"]
block = ["32"]
args = ["a", "b", "bias", "c", "M", "N", "K"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

extern "C" __global__ void matmul(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int M, int N,
                                  int K) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y;
  if (column >= N) return;
  a += (long long)blockIdx.z * M * K;
  b += (long long)blockIdx.z * K * N;
  auto rounded = [](float v) { return __int_as_float((__float_as_int(v) + 0x1000) & ~0x1fff); };
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    const float left = a[TRANS_A ? (long long)k * M + row : (long long)row * K + k];
    sum += rounded(left) * rounded(b[TRANS_B ? (long long)column * K + k : (long long)k * N + column]);
  }
  if (HAS_BIAS) sum += bias[column];
  c[(long long)blockIdx.z * M * N + (long long)row * N + column] = ak::activate<ACT>(sum);
}
