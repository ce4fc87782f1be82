/* autokernel
op = "conv2d"
about = "one thread per element of y, everything read from global memory"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
[defaults]
THREADS = 128
[[launch]]
entry = "conv2d"
grid = ["ceil_div(N * K * P * Q, THREADS)"]
block = ["THREADS"]
args = ["x", "w", "bias", "residual", "y", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

extern "C" __global__ void conv2d(const scalar_t* x, const scalar_t* w, const scalar_t* bias, const scalar_t* residual,
                                  scalar_t* y, int N, int C, int H, int W, int K, int R, int S, int GROUPS, int P,
                                  int Q) {
  const long long at = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (at >= (long long)N * K * P * Q) return;
  // y is [N, K, P, Q] or, with NHWC, [N, P, Q, K].
  const int k = NHWC ? at % K : at / Q / P % K;
  const int q = NHWC ? at / K % Q : at % Q;
  const int p = NHWC ? at / K / Q % P : at / Q % P;
  const long long n = at / ((long long)K * P * Q);
  const int channels = C / GROUPS, first = k / (K / GROUPS) * channels;

  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    for (int r = 0; r < R; ++r) {
      const int h = p * STRIDE_H - PAD_H + r * DILATION_H;
      if (h < 0 || h >= H) continue;
      for (int s = 0; s < S; ++s) {
        const int v = q * STRIDE_W - PAD_W + s * DILATION_W;
        if (v < 0 || v >= W) continue;
        const long long pixel = NHWC ? ((n * H + h) * W + v) * C + first + c : ((n * C + first + c) * H + h) * W + v;
        const long long tap = NHWC ? (((long long)k * R + r) * S + s) * channels + c
                                   : (((long long)k * channels + c) * R + r) * S + s;
        sum += ak::to_float(x[pixel]) * ak::to_float(w[tap]);
      }
    }
  }
#if HAS_BIAS
  sum += ak::to_float(bias[k]);
#endif
#if HAS_RESIDUAL
  sum += ak::to_float(residual[at]);
#endif
  y[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
}
