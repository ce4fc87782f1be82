/* autokernel
op = "conv2d"
about = "a thread makes a few pixels of a few output channels, so that what it reads serves several sums"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256]
PIXELS = [1, 2, 4]          # of a thread, THREADS apart
CHANNELS = [1, 2, 4, 8]     # output channels of a thread, next to each other
[constraints]
needs = ["GROUPS * ceil_div(K / GROUPS, CHANNELS) <= 65535"]     # limit of a grid
[defaults]
THREADS = 128
PIXELS = 2
CHANNELS = 8
[[launch]]
entry = "conv2d"
grid = ["ceil_div(N * P * Q, THREADS * PIXELS)", "GROUPS * ceil_div(K / GROUPS, CHANNELS)"]
block = ["THREADS"]
args = ["x", "w", "bias", "residual", "y", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

struct Sizes {
  int N, C, H, W, K, R, S, GROUPS, P, Q;
};

// kChannels output channels from k on, all of one group.
template <int kChannels>
static __device__ void convolve(const Sizes& z, const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                const scalar_t* residual, scalar_t* y, int k) {
  const int channels = z.C / z.GROUPS, first = k / (z.K / z.GROUPS) * channels;
  const int x_step = NHWC ? 1 : z.H * z.W, w_step = NHWC ? 1 : z.R * z.S;  // from one channel to the next
  const long long filter = (long long)channels * z.R * z.S;                // elements
  int p[PIXELS], q[PIXELS];
  long long n[PIXELS];
  for (int i = 0; i < PIXELS; ++i) {
    const long long pixel = ((long long)blockIdx.x * PIXELS + i) * THREADS + threadIdx.x;
    q[i] = pixel % z.Q;
    p[i] = pixel / z.Q % z.P;
    n[i] = pixel / z.Q / z.P;  // N or more: nothing to do
  }
  float sums[PIXELS][kChannels] = {};
  for (int r = 0; r < z.R; ++r) {
    for (int s = 0; s < z.S; ++s) {
      const scalar_t* taps = w + k * filter + (NHWC ? (r * z.S + s) * channels : r * z.S + s);
      const scalar_t* pixels[PIXELS];
      bool inside[PIXELS];
      for (int i = 0; i < PIXELS; ++i) {
        const int h = p[i] * STRIDE_H - PAD_H + r * DILATION_H, v = q[i] * STRIDE_W - PAD_W + s * DILATION_W;
        inside[i] = n[i] < z.N && h >= 0 && h < z.H && v >= 0 && v < z.W;
        pixels[i] = x + (NHWC ? ((n[i] * z.H + h) * z.W + v) * z.C + first : ((n[i] * z.C + first) * z.H + h) * z.W + v);
      }
#pragma unroll 4
      for (int c = 0; c < channels; ++c) {
        float value[PIXELS];
        for (int i = 0; i < PIXELS; ++i) value[i] = inside[i] ? ak::to_float(pixels[i][(long long)c * x_step]) : 0.0f;
        for (int j = 0; j < kChannels; ++j) {
          const float tap = ak::to_float(taps[j * filter + c * w_step]);
          for (int i = 0; i < PIXELS; ++i) sums[i][j] += value[i] * tap;
        }
      }
    }
  }
  for (int i = 0; i < PIXELS; ++i) {
    if (n[i] >= z.N) continue;
    for (int j = 0; j < kChannels; ++j) {
      // y is [N, K, P, Q] or, with NHWC, [N, P, Q, K].
      const long long at = NHWC ? ((n[i] * z.P + p[i]) * z.Q + q[i]) * z.K + k + j
                                : ((n[i] * z.K + k + j) * z.P + p[i]) * z.Q + q[i];
      float sum = sums[i][j];
#if HAS_BIAS
      sum += ak::to_float(bias[k + j]);
#endif
#if HAS_RESIDUAL
      sum += ak::to_float(residual[at]);
#endif
      y[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
    }
  }
}

extern "C" __global__ void conv2d(const scalar_t* x, const scalar_t* w, const scalar_t* bias, const scalar_t* residual,
                                  scalar_t* y, int N, int C, int H, int W, int K, int R, int S, int GROUPS, int P,
                                  int Q) {
  const Sizes z = {N, C, H, W, K, R, S, GROUPS, P, Q};
  const int in_group = K / GROUPS, parts = (in_group + CHANNELS - 1) / CHANNELS;
  const int group = blockIdx.y / parts, first = blockIdx.y % parts * CHANNELS;
  if (first + CHANNELS <= in_group) {
    convolve<CHANNELS>(z, x, w, bias, residual, y, group * in_group + first);
  } else {  // what is left over, one by one
    for (int k = first; k < in_group; ++k) convolve<1>(z, x, w, bias, residual, y, group * in_group + k);
  }
}
