/* autokernel
op = "softmax"
about = "a warp per row, several rows a block: no barrier, for rows of up to a few thousand columns"
dtypes = ["f32", "f16", "bf16"]
[tunables]
ROWS_PER_BLOCK = [1, 2, 4, 8, 16, 32]
[defaults]
ROWS_PER_BLOCK = 4
[[launch]]
entry = "softmax"
grid = ["ceil_div(ROWS, ROWS_PER_BLOCK)"]
block = ["32", "ROWS_PER_BLOCK"]
args = ["x", "mask", "y", "ROWS", "COLS", "scale"]
*/
#include "autokernel/device/convert.cuh"

static __device__ float logit(const scalar_t* x, const scalar_t* added, int column, float scale) {
#if HAS_MASK
  return scale * ak::to_float(x[column]) + ak::to_float(added[column]);
#else
  (void)added;
  return scale * ak::to_float(x[column]);
#endif
}

extern "C" __global__ void softmax(const scalar_t* x, const scalar_t* mask, scalar_t* y, int ROWS, int COLS,
                                   float scale) {
  const long long row = (long long)blockIdx.x * ROWS_PER_BLOCK + threadIdx.y;
  if (row >= ROWS) return;  // the whole warp leaves
  const scalar_t* source = x + row * COLS;
  const scalar_t* added = HAS_MASK ? mask + (MASK_ROWS ? row * COLS : 0) : nullptr;

  float highest = -ak::infinity();
  for (int i = threadIdx.x; i < COLS; i += 32) highest = fmaxf(highest, logit(source, added, i, scale));
  for (int offset = 16; offset > 0; offset /= 2) {
    highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, offset));
  }
  float sum = 0;
  for (int i = threadIdx.x; i < COLS; i += 32) sum += expf(logit(source, added, i, scale) - highest);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);

  const float inverse = 1.0f / sum;
  for (int i = threadIdx.x; i < COLS; i += 32) {
    y[row * COLS + i] = ak::from_float<scalar_t>(expf(logit(source, added, i, scale) - highest) * inverse);
  }
}
