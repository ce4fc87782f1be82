/* selftest
about = "maximum and sum of each row in a workspace between two launches"
dims = "ROWS=8,COLS=128"
*/
/* autokernel
op = "softmax"
dtypes = ["bf16"]
[[workspace]]
name = "rows"
bytes = "8 * ROWS"
[[launch]]
entry = "look"
grid = ["ROWS"]
block = [32]
args = ["x", "mask", "rows", "COLS", "scale"]
[[launch]]
entry = "scale_rows"
grid = ["ROWS"]
block = [32]
args = ["x", "mask", "rows", "y", "COLS", "scale"]
*/
#include "autokernel/device/convert.cuh"

__device__ inline float logit(const scalar_t* x, const scalar_t* mask, long long base, int i, float scale) {
  return scale * ak::to_float(x[base + i]) + (HAS_MASK ? ak::to_float(mask[(MASK_ROWS ? base : 0) + i]) : 0.0f);
}

extern "C" __global__ void look(const scalar_t* x, const scalar_t* mask, float* rows, int COLS, float scale) {
  const long long base = (long long)blockIdx.x * COLS;
  float largest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < COLS; i += 32) largest = fmaxf(largest, logit(x, mask, base, i, scale));
  for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
  for (int i = threadIdx.x; i < COLS; i += 32) sum += expf(logit(x, mask, base, i, scale) - largest);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) {
    rows[2 * blockIdx.x] = largest;
    rows[2 * blockIdx.x + 1] = sum;
  }
}

extern "C" __global__ void scale_rows(const scalar_t* x, const scalar_t* mask, const float* rows, scalar_t* y,
                                      int COLS, float scale) {
  const long long base = (long long)blockIdx.x * COLS;
  const float largest = rows[2 * blockIdx.x], sum = rows[2 * blockIdx.x + 1];
  for (int i = threadIdx.x; i < COLS; i += 32) {
    y[base + i] = ak::from_float<scalar_t>(expf(logit(x, mask, base, i, scale) - largest) / sum);
  }
}
