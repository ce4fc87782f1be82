/* autokernel
op = "conv2d"
about = "a tile of y per block, several outputs per thread in registers; image tile and filter may be staged in shared memory"
dtypes = ["f32", "f16", "bf16"]
specialize = ["R", "S"]
[tunables]
BLOCK_W = [8, 16, 32, 64, 128]          # threads along a row
BLOCK_H = [1, 2, 4, 8, 16]
OUT_W = [1, 2, 4, 8]                    # outputs of a thread, BLOCK_W apart
OUT_H = [1, 2, 4]
STAGE = [false, true]                   # through shared memory, one channel at a time
[constraints]
where = ["BLOCK_W * BLOCK_H >= 32", "BLOCK_W * BLOCK_H <= max_threads", "OUT_W * OUT_H <= 16"]
needs = ["N * K <= 65535", "ceil_div(P, BLOCK_H * OUT_H) <= 65535"]
[defaults]
BLOCK_W = 32
BLOCK_H = 8
OUT_W = 1
OUT_H = 2
STAGE = true
[[launch]]
entry = "conv2d"
grid = ["ceil_div(Q, BLOCK_W * OUT_W)", "ceil_div(P, BLOCK_H * OUT_H)", "N * K"]
block = ["BLOCK_W", "BLOCK_H"]
shared_bytes = """STAGE ? 4 * (R * S + ((BLOCK_H * OUT_H - 1) * STRIDE_H + (R - 1) * DILATION_H + 1)
                                     * ((BLOCK_W * OUT_W - 1) * STRIDE_W + (S - 1) * DILATION_W + 1)) : 0"""
args = ["x", "w", "bias", "residual", "y", "C", "H", "W", "K", "GROUPS", "P", "Q"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

constexpr int kTileH = (BLOCK_H * OUT_H - 1) * STRIDE_H + (kR - 1) * DILATION_H + 1;  // of the image
constexpr int kTileW = (BLOCK_W * OUT_W - 1) * STRIDE_W + (kS - 1) * DILATION_W + 1;

// The pixel of one channel, or 0 in the padding.
static __device__ float pixel_of(const scalar_t* image, int h, int v, int H, int W, int C) {
  if (h < 0 || h >= H || v < 0 || v >= W) return 0.0f;
  return ak::to_float(image[((long long)h * W + v) * (NHWC ? C : 1)]);
}

extern "C" __global__ void conv2d(const scalar_t* x, const scalar_t* w, const scalar_t* bias, const scalar_t* residual,
                                  scalar_t* y, int C, int H, int W, int K, int GROUPS, int P, int Q) {
  const int first_q = blockIdx.x * BLOCK_W * OUT_W, first_p = blockIdx.y * BLOCK_H * OUT_H;
  const int k = blockIdx.z % K, channels = C / GROUPS, first = k / (K / GROUPS) * channels;
  const long long n = blockIdx.z / K;
  const int top = first_p * STRIDE_H - PAD_H, left = first_q * STRIDE_W - PAD_W;
  float sums[OUT_H][OUT_W];
  for (int i = 0; i < OUT_H; ++i)
    for (int j = 0; j < OUT_W; ++j) sums[i][j] = 0;
#if STAGE
  extern __shared__ float staged[];
  float* taps = staged;
  float* tile = staged + kR * kS;
  const int thread = threadIdx.y * BLOCK_W + threadIdx.x;
#endif

  for (int c = 0; c < channels; ++c) {
    const scalar_t* image = x + (NHWC ? n * H * W * C + first + c : (n * C + first + c) * H * W);
    const scalar_t* filter = w + (NHWC ? (long long)k * kR * kS * channels + c : ((long long)k * channels + c) * kR * kS);
#if STAGE
    for (int at = thread; at < kR * kS; at += BLOCK_W * BLOCK_H) {
      taps[at] = ak::to_float(filter[(long long)at * (NHWC ? channels : 1)]);
    }
    for (int at = thread; at < kTileH * kTileW; at += BLOCK_W * BLOCK_H) {
      tile[at] = pixel_of(image, top + at / kTileW, left + at % kTileW, H, W, C);
    }
    __syncthreads();
#endif
#pragma unroll
    for (int r = 0; r < kR; ++r) {
#pragma unroll
      for (int s = 0; s < kS; ++s) {
#if STAGE
        const float tap = taps[r * kS + s];
#else
        const float tap = ak::to_float(filter[(long long)(r * kS + s) * (NHWC ? channels : 1)]);
#endif
        for (int i = 0; i < OUT_H; ++i) {
          for (int j = 0; j < OUT_W; ++j) {
            const int h = (i * BLOCK_H + threadIdx.y) * STRIDE_H + r * DILATION_H;
            const int v = (j * BLOCK_W + threadIdx.x) * STRIDE_W + s * DILATION_W;
#if STAGE
            sums[i][j] += tap * tile[h * kTileW + v];
#else
            sums[i][j] += tap * pixel_of(image, top + h, left + v, H, W, C);
#endif
          }
        }
      }
    }
#if STAGE
    __syncthreads();
#endif
  }

  for (int i = 0; i < OUT_H; ++i) {
    for (int j = 0; j < OUT_W; ++j) {
      const int p = first_p + i * BLOCK_H + threadIdx.y, q = first_q + j * BLOCK_W + threadIdx.x;
      if (p >= P || q >= Q) continue;
      const long long at = NHWC ? ((n * P + p) * Q + q) * K + k : ((n * K + k) * P + p) * Q + q;
      float sum = sums[i][j];
#if HAS_BIAS
      sum += ak::to_float(bias[k]);
#endif
#if HAS_RESIDUAL
      sum += ak::to_float(residual[at]);
#endif
      y[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
    }
  }
}
