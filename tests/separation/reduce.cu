/* autokernel
op = "reduce"
about = "one row a thread, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 3, 10, 11, 12, 13, 14]
[defaults]
VARIANT = 0
[[launch]]
entry = "reduce"
grid = ["ceil_div(ROWS, 32)"]
block = ["32"]
args = ["x", "y", "ROWS", "COLS"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float term(const scalar_t* in, int i) {
  float x = ak::to_float(in[i]);
  if (VARIANT == 10) return as_tf32(x);
  if (VARIANT == 11) return as_bf16(x);
  if (VARIANT == 13) return as_e4m3(x);
  return x;
}

extern "C" __global__ void reduce(const scalar_t* x, scalar_t* y, int ROWS, int COLS) {
  long long row = blockIdx.x * 32 + threadIdx.x;
  if (row >= ROWS) return;
  const scalar_t* in = x + row * COLS;
  float sum = 0;
  if (VARIANT == 1) {  // reversed
    for (int i = COLS - 1; i >= 0; --i) sum += term(in, i);
  } else if (VARIANT == 2) {  // tree of 32 lanes
    float lanes[32] = {};
    for (int i = 0; i < COLS; ++i) lanes[i % 32] += term(in, i);
    for (int half = 16; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
    }
    sum = lanes[0];
  } else if (VARIANT == 3) {  // split into 4 contiguous parts
    for (int part = 0; part < 4; ++part) {
      float partial = 0;
      for (int i = part * COLS / 4; i < (part + 1) * COLS / 4; ++i) partial += term(in, i);
      sum += partial;
    }
  } else {
    for (int i = 0; i < COLS; ++i) {
      sum += term(in, i);
      if (VARIANT == 12) sum = as_f16(sum);
      if (VARIANT == 14) sum = as_bf16(sum);
    }
  }
  y[row] = ak::from_float<scalar_t>(sum);
}
