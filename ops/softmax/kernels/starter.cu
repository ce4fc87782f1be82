/* autokernel
op = "softmax"
about = "one block per row, three passes (maximum, sum, result), tree reductions in shared memory"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
[defaults]
THREADS = 128
[[launch]]
entry = "softmax"
grid = ["ROWS"]
block = ["THREADS"]
args = ["x", "mask", "y", "COLS", "scale"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void softmax(const scalar_t* x, const scalar_t* mask, scalar_t* y, int COLS, float scale) {
  __shared__ float partial[THREADS];
  const int lane = threadIdx.x;
  const long long row = (long long)blockIdx.x * COLS;
#if HAS_MASK
  const scalar_t* added = mask + (MASK_ROWS ? row : 0);
#define LOGIT(i) (scale * ak::to_float(x[row + (i)]) + ak::to_float(added[i]))
#else
#define LOGIT(i) (scale * ak::to_float(x[row + (i)]))
#endif

  float highest = -ak::infinity();
  for (int i = lane; i < COLS; i += THREADS) highest = fmaxf(highest, LOGIT(i));
  partial[lane] = highest;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (lane < half) partial[lane] = fmaxf(partial[lane], partial[lane + half]);
    __syncthreads();
  }
  highest = partial[0];
  __syncthreads();  // before partial is used again

  float sum = 0;
  for (int i = lane; i < COLS; i += THREADS) sum += expf(LOGIT(i) - highest);
  partial[lane] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (lane < half) partial[lane] += partial[lane + half];
    __syncthreads();
  }

  const float inverse = 1.0f / partial[0];
  for (int i = lane; i < COLS; i += THREADS) {
    y[row + i] = ak::from_float<scalar_t>(expf(LOGIT(i) - highest) * inverse);
  }
}
