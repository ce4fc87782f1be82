/* autokernel
op = "rmsnorm"
about = "one row a thread, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 3, 10, 11, 12]
[defaults]
VARIANT = 0
[[launch]]
entry = "rmsnorm"
grid = ["ceil_div(M, 32)"]
block = ["32"]
args = ["x", "weight", "y", "M", "N", "eps"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

extern "C" __global__ void rmsnorm(const scalar_t* x, const scalar_t* weight, scalar_t* y, int M, int N, float eps) {
  long long row = blockIdx.x * 32 + threadIdx.x;
  if (row >= M) return;
  const scalar_t* in = x + row * N;
  float sum = 0;
  if (VARIANT == 1) {  // reversed
    for (int i = N - 1; i >= 0; --i) sum += ak::to_float(in[i]) * ak::to_float(in[i]);
  } else if (VARIANT == 2) {  // tree of 32 lanes
    float lanes[32] = {};
    for (int i = 0; i < N; ++i) lanes[i % 32] += ak::to_float(in[i]) * ak::to_float(in[i]);
    for (int half = 16; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
    }
    sum = lanes[0];
  } else {
    for (int i = 0; i < N; ++i) {
      float v = ak::to_float(in[i]);
      if (VARIANT == 10) v = as_tf32(v) ;
      if (VARIANT == 11) v = as_bf16(v);
      sum += v * v;
      if (VARIANT == 12) sum = as_bf16(sum);  // bf16 accumulator
    }
  }
  float mean = sum / N + eps;
  float scale = VARIANT == 3 ? rsqrtf(mean) : 1.0f / sqrtf(mean);
  if (VARIANT == 10) scale = as_tf32(scale);
  if (VARIANT == 11) scale = as_bf16(scale);
  for (int i = 0; i < N; ++i) {
    y[row * N + i] = ak::from_float<scalar_t>(ak::to_float(in[i]) * scale * ak::to_float(weight[i]));
  }
}
