/* autokernel
op = "fused_mlp"
about = "one row a thread, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 3, 4, 10, 11, 12, 13, 15]
[constraints]
needs = ["H <= 1024"]
[defaults]
VARIANT = 0
[[launch]]
entry = "mlp"
grid = ["ceil_div(M, 4)"]
block = ["4"]
args = ["x", "w_gate", "w_up", "w_down", "y", "M", "D", "H"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float operand(float x) {
  if (VARIANT == 10) return as_tf32(x);
  if (VARIANT == 11) return as_bf16(x);
  if (VARIANT == 13) return as_e4m3(x);
  return x;
}

template <class A>
__device__ inline float dot(const A* a, const scalar_t* b, int terms) {
  float sum = 0;
  if (VARIANT == 1) {  // reversed
    for (int i = terms - 1; i >= 0; --i) sum += ak::to_float(a[i]) * ak::to_float(b[i]);
  } else if (VARIANT == 2 || VARIANT == 3) {  // split by 4, tree of 32 lanes
    const int lanes = VARIANT == 2 ? 4 : 32;
    float parts[32] = {};
    for (int i = 0; i < terms; ++i) parts[i % lanes] += ak::to_float(a[i]) * ak::to_float(b[i]);
    for (int half = lanes / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
    }
    sum = parts[0];
  } else if (VARIANT == 4) {  // like a tensor core: 16 products join the sum at once
    for (int base = 0; base < terms; base += 16) {
      double exact = sum;
      for (int i = base; i < base + 16 && i < terms; ++i) exact += (double)ak::to_float(a[i]) * (double)ak::to_float(b[i]);
      sum = (float)exact;
    }
  } else {
    for (int i = 0; i < terms; ++i) {
      sum += operand(ak::to_float(a[i])) * operand(ak::to_float(b[i]));
      if (VARIANT == 12) sum = as_f16(sum);  // f16 accumulator
    }
  }
  return sum;
}

extern "C" __global__ void mlp(const scalar_t* x, const scalar_t* w_gate, const scalar_t* w_up, const scalar_t* w_down,
                               scalar_t* y, int M, int D, int H) {
  const int row = blockIdx.x * 4 + threadIdx.x;
  if (row >= M) return;
  float hidden[1024];
  for (int h = 0; h < H; ++h) {
    const float gate = dot(x + (long long)row * D, w_gate + (long long)h * D, D);
    const float up = dot(x + (long long)row * D, w_up + (long long)h * D, D);
    hidden[h] = ak::activate<ACT>(gate) * up;
    if (VARIANT == 4) hidden[h] = ak::to_float(ak::from_float<scalar_t>(hidden[h]));  // as matrix instructions want it
    if (VARIANT == 15) hidden[h] = as_two_bits_less(hidden[h]);
  }
  for (int d = 0; d < D; ++d) {
    y[(long long)row * D + d] = ak::from_float<scalar_t>(dot(hidden, w_down + (long long)d * H, H));
  }
}
