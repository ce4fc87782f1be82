/* selftest
about = "K split over blocks that meet at semaphores in a zeroed workspace; who comes last adds the parts and resets its semaphore"
dims = "M=17,N=24,K=300"
*/
/* autokernel
op = "matmul"
dtypes = ["f32", "bf16"]
[constraints]
needs = ["TRANS_A == 0", "TRANS_B == 0", "ACT == 0"]
[[workspace]]
name = "semaphores"
bytes = "4 * BATCH * ceil_div(M, 8) * ceil_div(N, 8)"
zeroed = true
[[workspace]]
name = "parts"
bytes = "4 * 4 * 64 * BATCH * ceil_div(M, 8) * ceil_div(N, 8)"
[[launch]]
entry = "matmul"
grid = ["ceil_div(N, 8)", "ceil_div(M, 8)", "BATCH * 4"]
block = [64]
args = ["a", "b", "c", "semaphores", "parts", "M", "N", "K"]
*/
#include "autokernel/device/convert.cuh"

constexpr int kSplits = 4;

extern "C" __global__ void matmul(const scalar_t* a, const scalar_t* b, scalar_t* c, int* semaphores, float* parts,
                                  int M, int N, int K) {
  const int batch = blockIdx.z / kSplits, split = blockIdx.z % kSplits, t = threadIdx.x;
  const int row = blockIdx.y * 8 + t / 8, column = blockIdx.x * 8 + t % 8;
  const long long tile = ((long long)batch * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const bool inside = row < M && column < N;
  const int share = (K + kSplits - 1) / kSplits;
  a += (long long)batch * M * K;
  b += (long long)batch * K * N;
  float sum = 0;
  for (int k = split * share; inside && k < K && k < (split + 1) * share; ++k) {
    sum += ak::to_float(a[(long long)row * K + k]) * ak::to_float(b[(long long)k * N + column]);
  }
  parts[(tile * kSplits + split) * 64 + t] = sum;
  __threadfence();
  __syncthreads();
  __shared__ int arrived;
  if (t == 0) arrived = atomicAdd(&semaphores[tile], 1);
  __syncthreads();
  if (arrived != kSplits - 1) return;
  __threadfence();
  float whole = 0;
  for (int s = 0; s < kSplits; ++s) whole += parts[(tile * kSplits + s) * 64 + t];
  if (inside) c[((long long)batch * M + row) * N + column] = ak::from_float<scalar_t>(whole);
  if (t == 0) semaphores[tile] = 0;
}
