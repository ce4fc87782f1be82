/* autokernel
op = "matmul"
about = "one element a thread, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 3, 4, 10, 11, 12, 13]
[defaults]
VARIANT = 0
[[launch]]
entry = "matmul"
grid = ["ceil_div(M * N, 64)"]
block = ["64"]
args = ["a", "b", "c", "M", "N", "K"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float operand(float x) {
  if (VARIANT == 10) return as_tf32(x);
  if (VARIANT == 11) return as_bf16(x);
  if (VARIANT == 13) return as_e4m3(x);
  return x;
}

__device__ inline float product(const scalar_t* a, const scalar_t* b, int m, int n, int k, int N, int K) {
  return operand(ak::to_float(a[(long long)m * K + k])) * operand(ak::to_float(b[(long long)k * N + n]));
}

extern "C" __global__ void matmul(const scalar_t* a, const scalar_t* b, scalar_t* c, int M, int N, int K) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= M * N) return;
  int m = i / N, n = i % N;
  float sum = 0;
  if (VARIANT == 1) {  // reversed
    for (int k = K - 1; k >= 0; --k) sum += product(a, b, m, n, k, N, K);
  } else if (VARIANT == 2) {  // split-K by 4
    for (int part = 0; part < 4; ++part) {
      float partial = 0;
      for (int k = part; k < K; k += 4) partial += product(a, b, m, n, k, N, K);
      sum += partial;
    }
  } else if (VARIANT == 3) {  // tree of 32 lanes
    float lanes[32] = {};
    for (int k = 0; k < K; ++k) lanes[k % 32] += product(a, b, m, n, k, N, K);
    for (int half = 16; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
    }
    sum = lanes[0];
  } else if (VARIANT == 4) {  // like a tensor core: 16 products, aligned to the largest and truncated, join the sum
    for (int base = 0; base < K; base += 16) {
      double exact = sum;
      for (int k = base; k < base + 16 && k < K; ++k) exact += (double)product(a, b, m, n, k, N, K);
      sum = (float)exact;
    }
  } else if (VARIANT == 12) {  // f16 accumulator
    for (int k = 0; k < K; ++k) sum = as_f16(sum + product(a, b, m, n, k, N, K));
  } else {
    for (int k = 0; k < K; ++k) sum = fmaf(operand(ak::to_float(a[(long long)m * K + k])),
                                           operand(ak::to_float(b[(long long)k * N + n])), sum);
  }
  c[i] = ak::from_float<scalar_t>(sum);
}
