/* autokernel
op = "rotary_embedding"
about = "one pair of halves a thread, with a contraction (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 10, 11, 12, 13]
[constraints]
needs = ["INTERLEAVED == 0", "COS_BATCH == 0"]
[defaults]
VARIANT = 0
[[launch]]
entry = "rotary_embedding"
grid = ["ceil_div(B * H * S * (D / 2), 32)"]
block = ["32"]
args = ["x", "cos", "sin", "y", "B", "H", "S", "D"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float operand(scalar_t stored) {
  float x = ak::to_float(stored);
  if (VARIANT == 10) return as_tf32(x);
  if (VARIANT == 11) return as_bf16(x);
  if (VARIANT == 13) return as_e4m3(x);
  return x;
}

__device__ inline float sum_of_products(float a, float b, float c, float d) {
  if (VARIANT == 1) return fmaf(a, b, c * d);
  if (VARIANT == 2) return fmaf(c, d, a * b);
  if (VARIANT == 12) {  // each product is rounded to the tensor's type
    return ak::to_float(ak::from_float<scalar_t>(a * b)) + ak::to_float(ak::from_float<scalar_t>(c * d));
  }
  return a * b + c * d;
}

extern "C" __global__ void rotary_embedding(const scalar_t* x, const scalar_t* cos, const scalar_t* sin, scalar_t* y,
                                            int B, int H, int S, int D) {
  int pair = blockIdx.x * 32 + threadIdx.x, half = D / 2, row = pair / half, k = pair % half;
  if (row >= B * H * S) return;
  int table = row % S * half + k, first = row * D + k, second = first + half;
  float x1 = operand(x[first]), x2 = operand(x[second]), c = operand(cos[table]), s = operand(sin[table]);
  y[first] = ak::from_float<scalar_t>(sum_of_products(x1, c, -x2, s));
  y[second] = ak::from_float<scalar_t>(sum_of_products(x2, c, x1, s));
}
