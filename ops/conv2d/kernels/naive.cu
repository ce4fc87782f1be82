/* autokernel
op = "conv2d"
about = "a template with a {block_size}: square blocks of threads, one output pixel each"
dtypes = ["f32", "f16", "bf16"]
template = true                         # {block_size} below is filled in
[tunables]
block_size = [16, 32, 64]               # 64 x 64 threads are more than any GPU runs in a block: an invalid config
[constraints]
needs = ["N * K <= 65535", "ceil_div(P, block_size) <= 65535"]
[defaults]
block_size = 16
[[launch]]
entry = "conv2d"
grid = ["ceil_div(Q, block_size)", "ceil_div(P, block_size)", "N * K"]
block = ["block_size", "block_size"]
args = ["x", "w", "bias", "residual", "y", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

extern "C" __global__ void conv2d(const scalar_t* x, const scalar_t* w, const scalar_t* bias, const scalar_t* residual,
                                  scalar_t* y, int C, int H, int W, int K, int R, int S, int GROUPS, int P, int Q) {
  const int q = blockIdx.x * {block_size} + threadIdx.x;
  const int p = blockIdx.y * {block_size} + threadIdx.y;
  if (p >= P || q >= Q) return;
  const int k = blockIdx.z % K, channels = C / GROUPS, first = k / (K / GROUPS) * channels;
  const long long n = blockIdx.z / K;

  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    for (int r = 0; r < R; ++r) {
      for (int s = 0; s < S; ++s) {
        const int h = p * STRIDE_H - PAD_H + r * DILATION_H;
        const int v = q * STRIDE_W - PAD_W + s * DILATION_W;
        if (h < 0 || h >= H || v < 0 || v >= W) continue;
        const long long pixel = NHWC ? ((n * H + h) * W + v) * C + first + c : ((n * C + first + c) * H + h) * W + v;
        const long long tap = NHWC ? (((long long)k * R + r) * S + s) * channels + c
                                   : (((long long)k * channels + c) * R + r) * S + s;
        sum += ak::to_float(x[pixel]) * ak::to_float(w[tap]);
      }
    }
  }
  const long long at = NHWC ? ((n * P + p) * Q + q) * K + k : ((n * K + k) * P + p) * Q + q;
#if HAS_BIAS
  sum += ak::to_float(bias[k]);
#endif
#if HAS_RESIDUAL
  sum += ak::to_float(residual[at]);
#endif
  y[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
}
