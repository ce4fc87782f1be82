/* autokernel
op = "conv2d"
about = "one output a thread, NCHW, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 10, 11, 12, 13]
[constraints]
needs = ["NHWC == 0", "GROUPS == 1"]
[defaults]
VARIANT = 0
[[launch]]
entry = "conv2d"
grid = ["ceil_div(N * K * P * Q, 64)"]
block = ["64"]
args = ["x", "w", "y", "N", "C", "H", "W", "K", "R", "S", "P", "Q"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float operand(float x) {
  if (VARIANT == 10) return as_tf32(x);
  if (VARIANT == 11) return as_bf16(x);
  if (VARIANT == 13) return as_e4m3(x);
  return x;
}

extern "C" __global__ void conv2d(const scalar_t* x, const scalar_t* w, scalar_t* y, int N, int C, int H, int W, int K,
                                  int R, int S, int P, int Q) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= N * K * P * Q) return;
  int q = i % Q, p = i / Q % P, k = i / (Q * P) % K, n = i / (Q * P * K);
  int taps = C * R * S;
  float sums[4] = {0, 0, 0, 0};
  for (int j = 0; j < taps; ++j) {
    int t = VARIANT == 1 ? taps - 1 - j : j;  // reversed
    int s = t % S, r = t / S % R, c = t / (S * R);
    int h = p * STRIDE_H - PAD_H + r * DILATION_H, v = q * STRIDE_W - PAD_W + s * DILATION_W;
    if (h < 0 || h >= H || v < 0 || v >= W) continue;
    float term = operand(ak::to_float(x[((n * C + c) * H + h) * W + v])) * operand(ak::to_float(w[((k * C + c) * R + r) * S + s]));
    int lane = VARIANT == 2 ? j % 4 : 0;  // split
    sums[lane] += term;
    if (VARIANT == 12) sums[lane] = as_f16(sums[lane]);
  }
  y[i] = ak::from_float<scalar_t>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}
