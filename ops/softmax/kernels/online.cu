/* autokernel
op = "softmax"
about = "one block per row; maximum and sum in one pass (online), vector loads, warp shuffles; a second pass writes"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
VEC = [1, 2, 4, 8]
[constraints]
where = ["VEC * elem_bytes <= 16"]
needs = ["COLS % VEC == 0"]
[defaults]
THREADS = 128
VEC = 1
[[launch]]
entry = "softmax"
grid = ["ROWS"]
block = ["THREADS"]
args = ["x", "mask", "y", "COLS", "scale"]
*/
#include "autokernel/device/convert.cuh"

struct alignas(VEC * sizeof(scalar_t)) Pack {
  scalar_t at[VEC];
};

// The maximum of some logits, and the sum of exp(logit - maximum).
struct Running {
  float highest, sum;
};

static __device__ Running merge(Running a, Running b) {
  const float highest = fmaxf(a.highest, b.highest);
  if (highest == -ak::infinity()) return a;  // nothing seen yet: infinity - infinity would be NaN
  return {highest, a.sum * expf(a.highest - highest) + b.sum * expf(b.highest - highest)};
}

static __device__ Running merge_block(Running value) {
  __shared__ Running warps[32];
  for (int offset = 16; offset > 0; offset /= 2) {
    const Running other = {__shfl_xor_sync(0xffffffffu, value.highest, offset),
                           __shfl_xor_sync(0xffffffffu, value.sum, offset)};
    value = merge(value, other);
  }
  if (THREADS == 32) return value;
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  Running all = warps[0];
  for (int warp = 1; warp < THREADS / 32; ++warp) all = merge(all, warps[warp]);
  return all;
}

static __device__ void load_logits(const Pack* x, const Pack* mask, int pack, float scale, float (&logits)[VEC]) {
  const Pack loaded = x[pack];
  for (int i = 0; i < VEC; ++i) logits[i] = scale * ak::to_float(loaded.at[i]);
#if HAS_MASK
  const Pack added = mask[pack];
  for (int i = 0; i < VEC; ++i) logits[i] += ak::to_float(added.at[i]);
#else
  (void)mask;
#endif
}

extern "C" __global__ void softmax(const scalar_t* x, const scalar_t* mask, scalar_t* y, int COLS, float scale) {
  const int packs = COLS / VEC;
  const long long row = blockIdx.x;
  const Pack* source = (const Pack*)x + row * packs;
  const Pack* added = HAS_MASK ? (const Pack*)mask + (MASK_ROWS ? row * packs : 0) : nullptr;
  float logits[VEC];

  Running seen = {-ak::infinity(), 0};
  for (int pack = threadIdx.x; pack < packs; pack += THREADS) {
    load_logits(source, added, pack, scale, logits);
    float highest = logits[0];
    for (int i = 1; i < VEC; ++i) highest = fmaxf(highest, logits[i]);
    if (highest > seen.highest) {
      seen.sum *= expf(seen.highest - highest);
      seen.highest = highest;
    }
    if (seen.highest > -ak::infinity()) {
      for (int i = 0; i < VEC; ++i) seen.sum += expf(logits[i] - seen.highest);
    }
  }
  seen = merge_block(seen);

  const float inverse = 1.0f / seen.sum;
  Pack* out = (Pack*)y + row * packs;
  for (int pack = threadIdx.x; pack < packs; pack += THREADS) {
    load_logits(source, added, pack, scale, logits);
    Pack result;
    for (int i = 0; i < VEC; ++i) {
      result.at[i] = ak::from_float<scalar_t>(expf(logits[i] - seen.highest) * inverse);
    }
    out[pack] = result;
  }
}
