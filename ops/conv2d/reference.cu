/* autokernel
op = "conv2d"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; tiles of pixels and channels by BLOCK threads"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BLOCK = [1, 256]   # what suits the device
[defaults]
BLOCK = 1
[[launch]]
entry = "reference"
grid = ["GROUPS * ceil_div(N * P * Q, BLOCK > 1 ? 64 : 4) * ceil_div(K / GROUPS, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["x", "w", "bias", "residual", "y_r", "y_S", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
[[launch]]
entry = "contract"
grid = ["GROUPS * ceil_div(N * P * Q, BLOCK > 1 ? 64 : 4) * ceil_div(K / GROUPS, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["x", "w", "bias", "residual", "y", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
#include "autokernel/device/tile_sums.cuh"

struct Sizes {
  int N, C, H, W, K, R, S, GROUPS, P, Q;
};

// The tile of a block: some pixels of all images, some output channels of one group.
struct Tile {
  long long pixel;
  int group, channel;  // the first output channel, within its group
};

static __device__ Tile tile(const Sizes& z) {
  const long long pixels = ((long long)z.N * z.P * z.Q + ak::kTile - 1) / ak::kTile;
  const int across = (z.K / z.GROUPS + ak::kTile - 1) / ak::kTile;
  Tile t;
  t.channel = (int)(blockIdx.x % across) * ak::kTile;
  t.pixel = blockIdx.x / across % pixels * ak::kTile;
  t.group = (int)(blockIdx.x / across / pixels);
  return t;
}

// Image, row and column of a pixel of y.
struct Pixel {
  long long n;
  int p, q;
};
static __device__ Pixel pixel_at(const Sizes& z, long long pixel) {
  if (pixel <= 0x7fffffff) {  // divisions of 64 bits are many times slower
    const int at = (int)pixel;
    return {at / z.Q / z.P, at / z.Q % z.P, at % z.Q};
  }
  return {pixel / z.Q / z.P, (int)(pixel / z.Q % z.P), (int)(pixel % z.Q)};
}

// Where the output of a pixel and a channel lies: y is [N, K, P, Q] or, with NHWC, [N, P, Q, K].
static __device__ __noinline__ long long output(const Sizes& z, long long pixel, int k) {
  const Pixel at = pixel_at(z, pixel);
  return NHWC ? pixel * z.K + k : ((at.n * z.K + k) * z.P + at.p) * z.Q + at.q;
}

// One tap of a pixel: its channel within the group, its row and column in the filter.
struct Tap {
  int c, r, s;
};
// In the order in which a layout's neighbours are next to each other.
static __device__ Tap tap(const Sizes& z, int index) {
  const int channels = z.C / z.GROUPS;
  if (NHWC) return {index % channels, index / channels / z.S, index / channels % z.S};
  return {index / (z.R * z.S), index / z.S % z.R, index % z.S};
}

// Where a pixel of y begins to look: the channels of its group in its image, and its first tap's row and column.
struct Corner {
  const scalar_t* image;  // null: beyond the last pixel
  int h, v;
};
static __device__ Corner corner(const Sizes& z, const scalar_t* x, long long pixel, int group) {
  if (pixel >= (long long)z.N * z.P * z.Q) return {nullptr, 0, 0};
  const Pixel at = pixel_at(z, pixel);
  const long long first = group * (z.C / z.GROUPS), area = (long long)z.H * z.W;
  return {x + at.n * z.C * area + (NHWC ? first : first * area), at.p * STRIDE_H - PAD_H, at.q * STRIDE_W - PAD_W};
}

// The image's element under a tap; 0 in the padding.
static __device__ float under(const Sizes& z, const Corner& from, const Tap& t) {
  const int h = from.h + t.r * DILATION_H, v = from.v + t.s * DILATION_W;
  if (from.image == nullptr || h < 0 || h >= z.H || v < 0 || v >= z.W) return 0;
  return ak::to_float(
      from.image[NHWC ? ((long long)h * z.W + v) * z.C + t.c : ((long long)t.c * z.H + h) * z.W + v]);
}
static __device__ float weight(const Sizes& z, const scalar_t* w, int k, const Tap& t) {
  const long long channels = z.C / z.GROUPS;
  return ak::to_float(w[NHWC ? (((long long)k * z.R + t.r) * z.S + t.s) * channels + t.c
                             : (((long long)k * channels + t.c) * z.R + t.r) * z.S + t.s]);
}

// The root of how many terms a sum has: the taps of a pixel that lie in the image, bias and residual.
static __device__ __noinline__ double root_of_terms(const Sizes& z, long long pixel) {
  const Pixel at = pixel_at(z, pixel);
  long long rows = 0, columns = 0;
  for (int r = 0; r < z.R; ++r) {
    const int h = at.p * STRIDE_H - PAD_H + r * DILATION_H;
    rows += h >= 0 && h < z.H;
  }
  for (int s = 0; s < z.S; ++s) {
    const int v = at.q * STRIDE_W - PAD_W + s * DILATION_W;
    columns += v >= 0 && v < z.W;
  }
  return sqrt((double)(rows * columns * (z.C / z.GROUPS) + HAS_BIAS + HAS_RESIDUAL));
}

// The sums of a tile; `factor` makes a term of a value. finish(pixel, channel, sum) gets each of them.
template <int kExact, class Make, class Finish>
static __device__ void correlate(const Sizes& z, const scalar_t* x, const scalar_t* w, const Make& factor,
                                 const Finish& finish) {
  __shared__ ak::Stage<kExact> stage;
  __shared__ Corner corners[ak::kTile];
  const Tile t = tile(z);
  for (int i = threadIdx.x; i < ak::kTile; i += BLOCK) corners[i] = corner(z, x, t.pixel + i, t.group);
  ak::tile_barrier();
  const long long pixels = (long long)z.N * z.P * z.Q;
  const int channels = z.K / z.GROUPS;
  ak::Sums<kExact> sums = {};
  ak::accumulate<NHWC != 0, true>(
      sums, stage, z.C / z.GROUPS * z.R * z.S,
      [&](int i, int index) { return factor(under(z, corners[i], tap(z, index))); },
      [&](int j, int index) {
        return factor(t.channel + j < channels ? weight(z, w, t.group * channels + t.channel + j, tap(z, index)) : 0.0f);
      });
  ak::each_sum([&](int i, int j, int row, int column) {
    if (t.pixel + row >= pixels || t.channel + column >= channels) return;
    finish(t.pixel + row, t.group * channels + t.channel + column, sums.at[i][j]);
  });
}

// Not inlined, since each of a thread's sums is finished by code of its own.
static __device__ __noinline__ double activated(double sum) { return ak::activate<ACT>(sum); }

#if HAS_BIAS || HAS_RESIDUAL
static __device__ void add(ak::Term<1>& sum, float value) {
  sum.exact[0] += value;
  sum.single += fabsf(value);
}
#endif

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                     const scalar_t* residual, double* y_r, double* y_S, int N, int C, int H, int W,
                                     int K, int R, int S, int GROUPS, int P, int Q) {
  const Sizes z = {N, C, H, W, K, R, S, GROUPS, P, Q};
  correlate<1>(
      z, x, w, [](float value) { return ak::exact(value); },
      [&](long long pixel, int k, ak::Term<1> sum) {
        const long long at = output(z, pixel, k);
#if HAS_BIAS
        add(sum, ak::to_float(bias[k]));
#endif
#if HAS_RESIDUAL
        add(sum, ak::to_float(residual[at]));
#endif
        y_r[at] = activated(sum.exact[0]);
        y_S[at] = root_of_terms(z, pixel) * sum.single;
      });
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                    const scalar_t* residual, scalar_t* y, int N, int C, int H, int W, int K, int R,
                                    int S, int GROUPS, int P, int Q) {
  const Sizes z = {N, C, H, W, K, R, S, GROUPS, P, Q};
  correlate<0>(
      z, x, w, [](float value) { return ak::single(value); },
      [&](long long pixel, int k, ak::Term<0> sum) {
        const long long at = output(z, pixel, k);
#if HAS_BIAS
        sum.single += ak::to_float(bias[k]);
#endif
#if HAS_RESIDUAL
        sum.single += ak::to_float(residual[at]);
#endif
        y[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum.single));
      });
}
