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
args = ["x", "w", "bias", "residual", "y_r", "y_S", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q",
        "STRIDE_H", "STRIDE_W", "PAD_H", "PAD_W", "DILATION_H",
        "DILATION_W", "NHWC", "HAS_BIAS", "HAS_RESIDUAL", "ACT"]
[[launch]]
entry = "contract"
grid = ["GROUPS * ceil_div(N * P * Q, BLOCK > 1 ? 64 : 4) * ceil_div(K / GROUPS, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["x", "w", "bias", "residual", "y", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q",
        "STRIDE_H", "STRIDE_W", "PAD_H", "PAD_W", "DILATION_H",
        "DILATION_W", "NHWC", "HAS_BIAS", "HAS_RESIDUAL", "ACT"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
#include "autokernel/device/tile_sums.cuh"

struct Sizes {
  int N, C, H, W, K, R, S, GROUPS, P, Q;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, nhwc, has_bias, has_residual, act;  // flags
};

// The tile of a block: some pixels of all images, some output channels of one group.
struct Tile {
  long long pixel;
  int group, channel;  // the first output channel, within its group
};

static __device__ Tile tile(const Sizes& z) {
  const int pixels = (int)(((long long)z.N * z.P * z.Q + ak::kTile - 1) / ak::kTile);  // no more than a grid has blocks
  const int across = (z.K / z.GROUPS + ak::kTile - 1) / ak::kTile;
  Tile t;
  t.channel = (int)(blockIdx.x % across) * ak::kTile;
  t.pixel = (long long)(blockIdx.x / across % pixels) * ak::kTile;
  t.group = (int)(blockIdx.x / across / pixels);
  return t;
}

// One tap of a pixel: its channel within the group, its row and column in the filter.
struct Tap {
  int c, r, s;
};
// In the order in which the filter's lie in memory.
static __device__ Tap tap(const Sizes& z, int index) {
  const int inner = z.nhwc ? z.C / z.GROUPS : z.S, middle = z.nhwc ? z.S : z.R;
  const int outer = index / inner, first = index % inner, second = outer % middle, third = outer / middle;
  return z.nhwc ? Tap{first, third, second} : Tap{third, second, first};
}

// A pixel of y.
struct Pixel {
  const scalar_t* image;  // the channels of its group in its image; null: beyond the last pixel
  int h, v;               // row and column of its first tap
  long long output;       // where its channel 0 lies
};

static __device__ Pixel pixel_at(const Sizes& z, const scalar_t* x, long long pixel, int group) {
  if (pixel >= (long long)z.N * z.P * z.Q) return {nullptr, 0, 0, 0};
  const long long area = (long long)z.H * z.W, outputs = (long long)z.P * z.Q;
  const long long n = pixel / outputs, first = group * (z.C / z.GROUPS);
  const int at = (int)(pixel % outputs);
  return {x + n * z.C * area + (z.nhwc ? first : first * area), at / z.Q * z.stride_h - z.pad_h,
          at % z.Q * z.stride_w - z.pad_w, z.nhwc ? pixel * z.K : n * z.K * outputs + at};
}

// How many of `count` taps, from `first` on and `step` apart, lie within `size`.
static __device__ long long inside(int first, int step, int count, int size) {
  long long found = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) found += first + i * step >= 0 && first + i * step < size;
  return found;
}
// The root of how many terms a sum has: the taps of a pixel that lie in the image, bias and residual.
static __device__ double root_of_terms(const Sizes& z, const Pixel& at) {
  const long long taps = inside(at.h, z.dilation_h, z.R, z.H) * inside(at.v, z.dilation_w, z.S, z.W);
  return sqrt((double)(taps * (z.C / z.GROUPS) + z.has_bias + z.has_residual));
}

// Elements from one to the next of an image.
struct Strides {
  long long channel, row, column;
};

// The image's element under a tap; 0 in the padding.
static __device__ float under(const Sizes& z, const Strides& strides, const Pixel& from, const Tap& t) {
  const int h = from.h + t.r * z.dilation_h, v = from.v + t.s * z.dilation_w;
  if (from.image == nullptr || h < 0 || h >= z.H || v < 0 || v >= z.W) return 0;
  return ak::to_float(from.image[t.c * strides.channel + h * strides.row + v * strides.column]);
}

// The sums of a tile; `factor` makes a term of a value. finish(pixel, channel, index of the output, sum) gets each of them.
template <int kExact, class Make, class Finish>
static __device__ void correlate(const Sizes& z, const scalar_t* x, const scalar_t* w, const Make& factor,
                                 const Finish& finish) {
  __shared__ ak::Stage<kExact> stage;
  __shared__ Pixel pixels[ak::kTile];
  const Tile t = tile(z);
#pragma unroll 1
  for (int i = threadIdx.x; i < ak::kTile; i += BLOCK) pixels[i] = pixel_at(z, x, t.pixel + i, t.group);
  ak::tile_barrier();
  const int channels = z.K / z.GROUPS, terms = z.C / z.GROUPS * z.R * z.S;
  const scalar_t* filters = w + (long long)(t.group * channels + t.channel) * terms;
  const Strides strides = z.nhwc ? Strides{1, (long long)z.W * z.C, z.C} : Strides{(long long)z.H * z.W, z.W, 1};
  ak::Sums<kExact> sums = {};
  ak::accumulate(
      sums, stage, terms, z.nhwc != 0,
      [&](int i, int index) { return factor(under(z, strides, pixels[i], tap(z, index))); }, true,
      [&](int j, int index) {
        return factor(t.channel + j < channels ? ak::to_float(filters[(long long)j * terms + index]) : 0.0f);
      });
  ak::each_sum(sums, [&](int, int row, int column, const ak::Term<kExact>& sum) {
    const Pixel& pixel = pixels[row];
    if (pixel.image == nullptr || t.channel + column >= channels) return;
    const int k = t.group * channels + t.channel + column;
    finish(pixel, k, pixel.output + (z.nhwc ? k : (long long)k * z.P * z.Q), sum);
  });
}

static __device__ void add(ak::Term<1>& sum, float value) {
  sum.exact[0] += value;
  sum.single += fabsf(value);
}
static __device__ void add(ak::Term<0>& sum, float value) { sum.single += value; }

template <int kExact>
static __device__ void add_bias_and_residual(const Sizes& z, ak::Term<kExact>& sum, const scalar_t* bias,
                                             const scalar_t* residual, int k, long long at) {
  if (z.has_bias) add(sum, ak::to_float(bias[k]));
  if (z.has_residual) add(sum, ak::to_float(residual[at]));
}

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                     const scalar_t* residual, double* y_r, double* y_S, int N, int C, int H, int W,
                                     int K, int R, int S, int GROUPS, int P, int Q, int stride_h, int stride_w,
                                     int pad_h, int pad_w, int dilation_h, int dilation_w, int nhwc, int has_bias,
                                     int has_residual, int act) {
  const Sizes z = {N,        C,     H,     W,          K,          R,    S,        GROUPS,       P,  Q, stride_h,
                   stride_w, pad_h, pad_w, dilation_h, dilation_w, nhwc, has_bias, has_residual, act};
  correlate<1>(
      z, x, w, [](float value) { return ak::exact(value); },
      [&](const Pixel& pixel, int k, long long at, ak::Term<1> sum) {
        add_bias_and_residual(z, sum, bias, residual, k, at);
        y_r[at] = ak::activate(act, sum.exact[0]);
        y_S[at] = root_of_terms(z, pixel) * sum.single;
      });
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                    const scalar_t* residual, scalar_t* y, int N, int C, int H, int W, int K, int R,
                                    int S, int GROUPS, int P, int Q, int stride_h, int stride_w, int pad_h, int pad_w,
                                    int dilation_h, int dilation_w, int nhwc, int has_bias, int has_residual, int act) {
  const Sizes z = {N,        C,     H,     W,          K,          R,    S,        GROUPS,       P,  Q, stride_h,
                   stride_w, pad_h, pad_w, dilation_h, dilation_w, nhwc, has_bias, has_residual, act};
  correlate<0>(
      z, x, w, [](float value) { return ak::single(value); },
      [&](const Pixel&, int k, long long at, ak::Term<0> sum) {
        add_bias_and_residual(z, sum, bias, residual, k, at);
        y[at] = ak::from_float<scalar_t>(ak::activate(act, sum.single));
      });
}
