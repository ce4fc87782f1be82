/* selftest
about = "1 x 1 x 1"
dims = "M=1,N=1,K=1"
*/
/* autokernel
op = "matmul"
dtypes = ["f32", "f16", "bf16"]
[constraints]
needs = ["TRANS_A == 0", "TRANS_B == 0", "ACT == 0", "M * N * K <= 1000"]
[[launch]]
entry = "matmul"
grid = ["M * N", "1", "BATCH"]
block = ["1"]
args = ["a", "b", "c", "M", "N", "K"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void matmul(const scalar_t* a, const scalar_t* b, scalar_t* c, int M, int N, int K) {
  const int row = blockIdx.x / N, column = blockIdx.x % N;
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    sum += ak::to_float(a[((long long)blockIdx.z * M + row) * K + k]) *
           ak::to_float(b[((long long)blockIdx.z * K + k) * N + column]);
  }
  c[((long long)blockIdx.z * M + row) * N + column] = ak::from_float<scalar_t>(sum);
}
