/* autokernel
op = "softmax"
about = "one row a thread, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 3, 10, 11, 12]
[defaults]
VARIANT = 0
[[launch]]
entry = "softmax"
grid = ["ceil_div(ROWS, 32)"]
block = ["32"]
args = ["x", "y", "ROWS", "COLS", "scale"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float exponential(float x) {
  if (VARIANT == 10) return as_f16(expf(as_f16(x)));   // f16 exponentials
  if (VARIANT == 11) return as_bf16(expf(as_bf16(x)));  // bf16 exponentials
  return expf(x);
}

extern "C" __global__ void softmax(const scalar_t* x, scalar_t* y, int ROWS, int COLS, float scale) {
  long long row = blockIdx.x * 32 + threadIdx.x;
  if (row >= ROWS) return;
  const scalar_t* in = x + row * COLS;
  float top = -ak::infinity(), sum = 0;
  if (VARIANT == 3) {  // online, one pass
    for (int i = 0; i < COLS; ++i) {
      float v = scale * ak::to_float(in[i]);
      float next = fmaxf(top, v);
      sum = sum * expf(top - next) + expf(v - next);
      top = next;
    }
  } else {
    for (int i = 0; i < COLS; ++i) top = fmaxf(top, scale * ak::to_float(in[i]));
    if (VARIANT == 1) {  // reversed
      for (int i = COLS - 1; i >= 0; --i) sum += exponential(scale * ak::to_float(in[i]) - top);
    } else if (VARIANT == 2) {  // tree of 32 lanes
      float lanes[32] = {};
      for (int i = 0; i < COLS; ++i) lanes[i % 32] += exponential(scale * ak::to_float(in[i]) - top);
      for (int half = 16; half > 0; half /= 2) {
        for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
      }
      sum = lanes[0];
    } else {
      for (int i = 0; i < COLS; ++i) {
        sum += exponential(scale * ak::to_float(in[i]) - top);
        if (VARIANT == 12) sum = as_f16(sum);  // f16 accumulator
      }
    }
  }
  for (int i = 0; i < COLS; ++i) {
    y[row * COLS + i] = ak::from_float<scalar_t>(exponential(scale * ak::to_float(in[i]) - top) / sum);
  }
}
