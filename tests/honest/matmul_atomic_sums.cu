/* selftest
about = "K split over blocks that add to an fp32 workspace in any order; a second launch rounds"
dims = "M=16,N=32,K=512"
*/
/* autokernel
op = "matmul"
dtypes = ["f16"]
[constraints]
needs = ["TRANS_A == 0", "TRANS_B == 0", "ACT == 0"]
[[workspace]]
name = "sums"
bytes = "4 * BATCH * M * N"
zeroed = true
[[launch]]
entry = "add_up"
grid = ["ceil_div(N, 32)", "M", "BATCH * 8"]
block = [32]
args = ["a", "b", "sums", "M", "N", "K"]
[[launch]]
entry = "write_out"
grid = ["ceil_div(BATCH * M * N, 64)"]
block = [64]
args = ["sums", "c", "BATCH * M * N"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void add_up(const scalar_t* a, const scalar_t* b, float* sums, int M, int N, int K) {
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y, batch = blockIdx.z / 8, split = blockIdx.z % 8;
  if (column >= N) return;
  a += ((long long)batch * M + row) * K;
  b += (long long)batch * K * N + column;
  float sum = 0;
  for (int k = split; k < K; k += 8) sum += ak::to_float(a[k]) * ak::to_float(b[(long long)k * N]);
  atomicAdd(&sums[((long long)batch * M + row) * N + column], sum);
}

extern "C" __global__ void write_out(const float* sums, scalar_t* c, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) c[i] = ak::from_float<scalar_t>(sums[i]);
}
