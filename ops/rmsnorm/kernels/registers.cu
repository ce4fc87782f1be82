/* autokernel
op = "rmsnorm"
about = "one block per row, the row read once and held in registers, vector loads, warp shuffles"
dtypes = ["f32", "f16", "bf16"]
specialize = ["N"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
VEC = [1, 2, 4, 8]
[constraints]
where = ["VEC * elem_bytes <= 16"]              # what one load instruction moves
needs = [
  "N % VEC == 0",                               # rows begin at a vector's alignment
  "ceil_div(N, THREADS * VEC) * VEC <= 64",     # elements that a thread keeps
]
[defaults]
THREADS = 256
VEC = 4
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = ["THREADS"]
args = ["x", "weight", "residual", "y", "stream", "eps"]
*/
#include "autokernel/device/convert.cuh"

struct alignas(VEC * sizeof(scalar_t)) Pack {
  scalar_t at[VEC];
};

constexpr int kPacks = kN / VEC;                            // of a row
constexpr int kSteps = (kPacks + THREADS - 1) / THREADS;    // of a thread

// The sum over the block, in every thread.
static __device__ float block_sum(float value) {
  __shared__ float warps[32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (THREADS == 32) return value;
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < THREADS / 32; ++warp) sum += warps[warp];
  return sum;
}

extern "C" __global__ void rmsnorm(const scalar_t* x, const scalar_t* weight, const scalar_t* residual, scalar_t* y,
                                   scalar_t* stream, float eps) {
  const long long row = (long long)blockIdx.x * kPacks;
  const Pack* source = (const Pack*)x + row;
  float held[kSteps][VEC];
  float squares = 0;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int pack = step * THREADS + threadIdx.x;
    if (pack < kPacks) {
      const Pack loaded = source[pack];
#if HAS_RESIDUAL
      const Pack added = ((const Pack*)residual + row)[pack];
      Pack sum;
      for (int i = 0; i < VEC; ++i) {
        sum.at[i] = ak::from_float<scalar_t>(ak::to_float(loaded.at[i]) + ak::to_float(added.at[i]));
        held[step][i] = ak::to_float(sum.at[i]);
      }
      ((Pack*)stream + row)[pack] = sum;
#else
      for (int i = 0; i < VEC; ++i) held[step][i] = ak::to_float(loaded.at[i]);
#endif
      for (int i = 0; i < VEC; ++i) squares += held[step][i] * held[step][i];
    }
  }

  const float rstd = 1.0f / sqrtf(block_sum(squares) / kN + eps);
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int pack = step * THREADS + threadIdx.x;
    if (pack < kPacks) {
      const Pack scale = ((const Pack*)weight)[pack];
      Pack out;
      for (int i = 0; i < VEC; ++i) {
        out.at[i] = ak::from_float<scalar_t>(held[step][i] * rstd * ak::to_float(scale.at[i]));
      }
      ((Pack*)y + row)[pack] = out;
    }
  }
}
