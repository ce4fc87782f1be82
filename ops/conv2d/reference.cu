/* autokernel
op = "conv2d"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; BLOCK threads per 64 x 64 outputs"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BLOCK = [1, 256]   # what suits the device
[defaults]
BLOCK = 1
[[launch]]
entry = "reference"
grid = ["GROUPS * ceil_div(N * P * Q, 64) * ceil_div(K / GROUPS, 64)"]
block = ["BLOCK"]
args = ["x", "w", "bias", "residual", "y_r", "y_S", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
[[launch]]
entry = "contract"
grid = ["GROUPS * ceil_div(N * P * Q, 64) * ceil_div(K / GROUPS, 64)"]
block = ["BLOCK"]
args = ["x", "w", "bias", "residual", "y", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

struct Sizes {
  int N, C, H, W, K, R, S, GROUPS, P, Q;
};

// The tile of a block: 64 pixels of all images, 64 output channels of one group.
struct Tile {
  long long pixel;
  int group, channel;  // the first output channel, within its group
};

static __device__ Tile tile(const Sizes& z) {
  const long long pixels = ((long long)z.N * z.P * z.Q + 63) / 64;
  const int across = (z.K / z.GROUPS + 63) / 64;
  Tile t;
  t.channel = (int)(blockIdx.x % across) * 64;
  t.pixel = blockIdx.x / across % pixels * 64;
  t.group = (int)(blockIdx.x / across / pixels);
  return t;
}

// Where the output of a pixel and a channel lies: y is [N, K, P, Q] or, with NHWC, [N, P, Q, K].
static __device__ long long output(const Sizes& z, long long pixel, int k) {
  const long long area = (long long)z.P * z.Q;
  return NHWC ? pixel * z.K + k : (pixel / area * z.K + k) * area + pixel % area;
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

// The image's element under a tap; false in the padding.
static __device__ bool under(const Sizes& z, const scalar_t* x, long long pixel, int group, const Tap& t, float* value) {
  const int q = (int)(pixel % z.Q), p = (int)(pixel / z.Q % z.P);
  const long long n = pixel / z.Q / z.P;
  const int h = p * STRIDE_H - PAD_H + t.r * DILATION_H, v = q * STRIDE_W - PAD_W + t.s * DILATION_W;
  if (h < 0 || h >= z.H || v < 0 || v >= z.W) return false;
  const int c = group * (z.C / z.GROUPS) + t.c;
  *value = ak::to_float(x[NHWC ? ((n * z.H + h) * z.W + v) * z.C + c : ((n * z.C + c) * z.H + h) * z.W + v]);
  return true;
}
static __device__ float weight(const Sizes& z, const scalar_t* w, int k, const Tap& t) {
  const long long channels = z.C / z.GROUPS;
  return ak::to_float(w[NHWC ? (((long long)k * z.R + t.r) * z.S + t.s) * channels + t.c
                             : (((long long)k * channels + t.c) * z.R + t.r) * z.S + t.s]);
}

// How many taps of a pixel lie in the image.
static __device__ long long terms_of(const Sizes& z, long long pixel) {
  const int q = (int)(pixel % z.Q), p = (int)(pixel / z.Q % z.P);
  long long rows = 0, columns = 0;
  for (int r = 0; r < z.R; ++r) {
    const int h = p * STRIDE_H - PAD_H + r * DILATION_H;
    rows += h >= 0 && h < z.H;
  }
  for (int s = 0; s < z.S; ++s) {
    const int v = q * STRIDE_W - PAD_W + s * DILATION_W;
    columns += v >= 0 && v < z.W;
  }
  return rows * columns * (z.C / z.GROUPS);
}

// Sums in order. Real is double or float; sizes of errors need no more than fp32.
template <class Real>
struct Sum {
  Real value;
  float magnitude;
  __device__ void add(float a, float b) {
    value += (Real)a * (Real)b;
    magnitude += fabsf(a) * fabsf(b);
  }
};

// The sums of a tile: `finish(pixel, channel, sum)` gets each of them.
template <class Real, class Finish>
static __device__ void correlate(const Sizes& z, const scalar_t* x, const scalar_t* w, Finish finish) {
  const Tile t = tile(z);
  const long long pixels = (long long)z.N * z.P * z.Q;
  const int channels = z.K / z.GROUPS, taps = z.C / z.GROUPS * z.R * z.S;
#if BLOCK > 1
  // 16 taps at a time; in the padding and outside they are zeros, which change no sum.
  __shared__ float xs[16][65], ws[16][65];
  const int column = threadIdx.x % 16, row = threadIdx.x / 16;
  Sum<Real> sum[4][4] = {};
  for (int first = 0; first < taps; first += 16) {
    for (int i = threadIdx.x; i < 1024; i += BLOCK) {
      const int index = first + i % 16, at = i / 16;
      float a = 0, b = 0;
      if (index < taps) {
        const Tap each = tap(z, index);
        if (t.pixel + at < pixels) under(z, x, t.pixel + at, t.group, each, &a);
        if (t.channel + at < channels) b = weight(z, w, t.group * channels + t.channel + at, each);
      }
      xs[i % 16][at] = a;
      ws[i % 16][at] = b;
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 16; ++step) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) sum[i][j].add(xs[step][row + 16 * i], ws[step][column + 16 * j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long pixel = t.pixel + row + 16 * i;
      const int channel = t.channel + column + 16 * j;
      if (pixel < pixels && channel < channels) finish(pixel, t.group * channels + channel, sum[i][j]);
    }
  }
#else
  for (long long pixel = t.pixel; pixel < t.pixel + 64 && pixel < pixels; ++pixel) {
    for (int channel = t.channel; channel < t.channel + 64 && channel < channels; ++channel) {
      Sum<Real> sum = {0, 0};
      for (int index = 0; index < taps; ++index) {
        const Tap each = tap(z, index);
        float a;
        if (under(z, x, pixel, t.group, each, &a)) sum.add(a, weight(z, w, t.group * channels + channel, each));
      }
      finish(pixel, t.group * channels + channel, sum);
    }
  }
#endif
}

// Bias and residual, absent or not.
template <class Real>
static __device__ int add_rest(Sum<Real>& sum, const scalar_t* bias, const scalar_t* residual, long long at, int k) {
#if HAS_BIAS
  sum.add(ak::to_float(bias[k]), 1.0f);
#else
  (void)bias;
  (void)k;
#endif
#if HAS_RESIDUAL
  sum.add(ak::to_float(residual[at]), 1.0f);
#else
  (void)residual;
  (void)at;
#endif
  return HAS_BIAS + HAS_RESIDUAL;
}

struct StoreReference {
  const Sizes& z;
  const scalar_t* bias;
  const scalar_t* residual;
  double* y_r;
  double* y_S;
  __device__ void operator()(long long pixel, int k, Sum<double> sum) const {
    const long long at = output(z, pixel, k);
    const long long terms = terms_of(z, pixel) + add_rest(sum, bias, residual, at, k);
    y_r[at] = ak::activate<ACT>(sum.value);
    y_S[at] = sqrt((double)terms) * sum.magnitude;
  }
};

struct StoreContract {
  const Sizes& z;
  const scalar_t* bias;
  const scalar_t* residual;
  scalar_t* y;
  __device__ void operator()(long long pixel, int k, Sum<float> sum) const {
    const long long at = output(z, pixel, k);
    add_rest(sum, bias, residual, at, k);
    y[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum.value));
  }
};

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                     const scalar_t* residual, double* y_r, double* y_S, int N, int C, int H, int W,
                                     int K, int R, int S, int GROUPS, int P, int Q) {
  const Sizes z = {N, C, H, W, K, R, S, GROUPS, P, Q};
  correlate<double>(z, x, w, StoreReference{z, bias, residual, y_r, y_S});
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                    const scalar_t* residual, scalar_t* y, int N, int C, int H, int W, int K, int R,
                                    int S, int GROUPS, int P, int Q) {
  const Sizes z = {N, C, H, W, K, R, S, GROUPS, P, Q};
  correlate<float>(z, x, w, StoreContract{z, bias, residual, y});
}
