/* autokernel
op = "layernorm"
about = "one block per row, the row read once and held in registers for both passes, vector loads, warp shuffles"
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
entry = "layernorm"
grid = ["M"]
block = ["THREADS"]
args = ["x", "weight", "bias", "residual", "y", "stream", "eps"]
*/
#include "autokernel/device/convert.cuh"

struct alignas(VEC * sizeof(scalar_t)) Pack {
  scalar_t at[VEC];
};

constexpr int kPacks = kN / VEC;                            // of a row
constexpr int kSteps = (kPacks + THREADS - 1) / THREADS;    // of a thread

// The sum over the block, in every thread; each call has shared memory of its own.
template <int kCall>
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

// The pack that is normalised; with a residual, also stored as the stream.
static __device__ Pack load_source(const Pack* x, const Pack* residual, Pack* stream, long long at) {
  Pack loaded = x[at];
#if HAS_RESIDUAL
  const Pack added = residual[at];
  for (int i = 0; i < VEC; ++i) {
    loaded.at[i] = ak::from_float<scalar_t>(ak::to_float(loaded.at[i]) + ak::to_float(added.at[i]));
  }
  stream[at] = loaded;
#else
  (void)residual;
  (void)stream;
#endif
  return loaded;
}

extern "C" __global__ void layernorm(const scalar_t* x, const scalar_t* weight, const scalar_t* bias,
                                     const scalar_t* residual, scalar_t* y, scalar_t* stream, float eps) {
  const long long row = (long long)blockIdx.x * kPacks;
  float held[kSteps][VEC];
  float sum = 0;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int pack = step * THREADS + threadIdx.x;
    if (pack < kPacks) {
      const Pack source = load_source((const Pack*)x, (const Pack*)residual, (Pack*)stream, row + pack);
      for (int i = 0; i < VEC; ++i) sum += held[step][i] = ak::to_float(source.at[i]);
    }
  }
  const float mean = block_sum<0>(sum) / kN;

  float squares = 0;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    if (step * THREADS + threadIdx.x < kPacks) {
      for (int i = 0; i < VEC; ++i) squares += (held[step][i] - mean) * (held[step][i] - mean);
    }
  }
  const float rstd = 1.0f / sqrtf(block_sum<1>(squares) / kN + eps);

#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int pack = step * THREADS + threadIdx.x;
    if (pack < kPacks) {
      const Pack scale = ((const Pack*)weight)[pack], shift = ((const Pack*)bias)[pack];
      Pack out;
      for (int i = 0; i < VEC; ++i) {
        const float normalised = (held[step][i] - mean) * rstd;
        out.at[i] = ak::from_float<scalar_t>(normalised * ak::to_float(scale.at[i]) + ak::to_float(shift.at[i]));
      }
      ((Pack*)y + row)[pack] = out;
    }
  }
}
