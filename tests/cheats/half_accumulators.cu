/* selftest
about = "adds in half precision"
dims = "M=32,N=32,K=512"
kind = "wrong"
cpu = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
cuda = ["numeric", "shape.hidden", "shape.timed", "repeat", "shape.edge", "place.vary", "isolate", "input.probe", "time.rotate"]
*/
/* autokernel
op = "matmul"
dtypes = ["f16"]
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
  __half sum = __float2half(0);
  for (int k = 0; k < K; ++k) {
    const __half left = a[TRANS_A ? (long long)k * M + row : (long long)row * K + k];
    sum = __hadd(sum, __hmul(left, b[TRANS_B ? (long long)column * K + k : (long long)k * N + column]));
  }
  const float value = __half2float(sum) + (HAS_BIAS ? ak::to_float(bias[HAS_BIAS ? column : 0]) : 0);
  c[(long long)blockIdx.z * M * N + (long long)row * N + column] = ak::from_float<scalar_t>(ak::activate<ACT>(value));
}
