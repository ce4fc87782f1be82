/* autokernel
op = "conv2d"
about = "a tile of y per block, several outputs per thread in registers; the image tile may be staged in shared memory"
dtypes = ["f32", "f16", "bf16"]
specialize = ["R", "S"]
[tunables]
BLOCK_W = [4, 8, 16, 32, 64, 128]       # threads along a row
BLOCK_H = [1, 2, 4, 8, 16, 32]
OUT_W = [1, 2, 4, 8, 16]                # outputs of a thread
OUT_H = [1, 2, 4]
ADJACENT = [false, true]                # its outputs along a row: next to each other, or BLOCK_W apart
STAGE = [false, true]                   # pixels and filter go through shared memory, one channel at a time
[constraints]
where = ["BLOCK_W * BLOCK_H >= 32", "BLOCK_W * BLOCK_H <= max_threads", "OUT_W * OUT_H <= 32"]
needs = ["N * K <= 65535", "ceil_div(P, BLOCK_H * OUT_H) <= 65535"]
[defaults]
BLOCK_W = 32
BLOCK_H = 8
OUT_W = 1
OUT_H = 1
ADJACENT = false
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

constexpr int kTileH = (BLOCK_H * OUT_H - 1) * STRIDE_H + (kR - 1) * DILATION_H + 1;  // pixels that a block reads
constexpr int kTileW = (BLOCK_W * OUT_W - 1) * STRIDE_W + (kS - 1) * DILATION_W + 1;

// One channel of the image, seen from the block's first tap.
struct Plane {
  const scalar_t* pixels;
  int top, left, H, W, step;  // step: elements from one pixel to the next

  // 0 in the padding; a block in the interior never asks.
  template <bool kInside>
  __device__ float at(int h, int v) const {
    h += top;
    v += left;
    if (!kInside && (h < 0 || h >= H || v < 0 || v >= W)) return 0.0f;
    return ak::to_float(pixels[((long long)h * W + v) * step]);
  }
};

// The same read from the tile in shared memory.
struct Tile {
  const float* pixels;
  template <bool kInside>
  __device__ float at(int h, int v) const {
    return pixels[h * kTileW + v];
  }
};

// Column and row of a thread's output in the block's tile of y.
static __device__ int column_of(int j) { return ADJACENT ? threadIdx.x * OUT_W + j : j * BLOCK_W + threadIdx.x; }
static __device__ int row_of(int i) { return i * BLOCK_H + threadIdx.y; }

template <bool kInside, class Image, class Tap>
static __device__ void add_channel(float (&sums)[OUT_H][OUT_W], const Image& image, const Tap* taps, int tap_step) {
#pragma unroll
  for (int r = 0; r < kR; ++r) {
#pragma unroll
    for (int i = 0; i < OUT_H; ++i) {
      const int h = row_of(i) * STRIDE_H + r * DILATION_H;
#pragma unroll
      for (int s = 0; s < kS; ++s) {
        const float tap = ak::to_float(taps[(r * kS + s) * tap_step]);
#pragma unroll
        for (int j = 0; j < OUT_W; ++j) {
          sums[i][j] += tap * image.template at<kInside>(h, column_of(j) * STRIDE_W + s * DILATION_W);
        }
      }
    }
  }
}

extern "C" __global__ void conv2d(const scalar_t* x, const scalar_t* w, const scalar_t* bias, const scalar_t* residual,
                                  scalar_t* y, int C, int H, int W, int K, int GROUPS, int P, int Q) {
  const int first_q = blockIdx.x * BLOCK_W * OUT_W, first_p = blockIdx.y * BLOCK_H * OUT_H;
  const int k = blockIdx.z % K, channels = C / GROUPS, first = k / (K / GROUPS) * channels;
  const long long n = blockIdx.z / K;
  Plane plane = {nullptr, first_p * STRIDE_H - PAD_H, first_q * STRIDE_W - PAD_W, H, W, NHWC ? C : 1};
  const bool inside =
      plane.top >= 0 && plane.left >= 0 && plane.top + kTileH <= H && plane.left + kTileW <= W;  // the whole block
  const int tap_step = NHWC ? channels : 1;
  float sums[OUT_H][OUT_W] = {};
#if STAGE
  extern __shared__ float staged[];
  float* taps = staged;
  float* tile = staged + kR * kS;
  const int thread = threadIdx.y * BLOCK_W + threadIdx.x;
#endif

  for (int c = 0; c < channels; ++c) {
    plane.pixels = x + (NHWC ? n * H * W * C + first + c : (n * C + first + c) * H * W);
    const scalar_t* filter = w + (NHWC ? (long long)k * kR * kS * channels + c : ((long long)k * channels + c) * kR * kS);
#if STAGE
    for (int at = thread; at < kR * kS; at += BLOCK_W * BLOCK_H) taps[at] = ak::to_float(filter[at * tap_step]);
    for (int at = thread; at < kTileH * kTileW; at += BLOCK_W * BLOCK_H) {
      tile[at] = plane.at<false>(at / kTileW, at % kTileW);
    }
    __syncthreads();
    add_channel<true>(sums, Tile{tile}, taps, 1);
    __syncthreads();
#else
    if (inside) {
      add_channel<true>(sums, plane, filter, tap_step);
    } else {
      add_channel<false>(sums, plane, filter, tap_step);
    }
#endif
  }
  (void)inside;

  for (int i = 0; i < OUT_H; ++i) {
    for (int j = 0; j < OUT_W; ++j) {
      const int p = first_p + row_of(i), q = first_q + column_of(j);
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
