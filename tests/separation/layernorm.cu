/* autokernel
op = "layernorm"
about = "one row a thread, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 3, 4, 10, 11, 12, 13, 15]
[defaults]
VARIANT = 0
[[launch]]
entry = "layernorm"
grid = ["ceil_div(M, 32)"]
block = ["32"]
args = ["x", "weight", "bias", "y", "M", "N", "eps"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float value(const scalar_t* in, int i) {
  float x = ak::to_float(in[i]);
  return VARIANT == 13 ? as_e4m3(x) : x;
}

struct Moments {
  float mean, squares;  // of differences from the mean
};

__device__ inline Moments two_passes(const scalar_t* in, int N) {
  Moments m = {0, 0};
  for (int j = 0; j < N; ++j) {
    m.mean += value(in, VARIANT == 1 ? N - 1 - j : j);  // 1: reversed
    if (VARIANT == 12) m.mean = as_bf16(m.mean);
  }
  m.mean /= N;
  for (int j = 0; j < N; ++j) {
    float centred = value(in, VARIANT == 1 ? N - 1 - j : j) - m.mean;
    if (VARIANT == 10) centred = as_tf32(centred);
    if (VARIANT == 11) centred = as_bf16(centred);
    m.squares += centred * centred;
    if (VARIANT == 12) m.squares = as_bf16(m.squares);  // bf16 accumulators
  }
  return m;
}

__device__ inline Moments tree(const scalar_t* in, int N) {  // two passes, 32 lanes
  Moments m;
  float lanes[32] = {};
  for (int pass = 0; pass < 2; ++pass) {
    for (int j = 0; j < 32; ++j) lanes[j] = 0;
    for (int i = 0; i < N; ++i) {
      float v = value(in, i) - (pass == 0 ? 0 : m.mean);
      lanes[i % 32] += pass == 0 ? v : v * v;
    }
    for (int half = 16; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
    }
    if (pass == 0) m.mean = lanes[0] / N;
  }
  m.squares = lanes[0];
  return m;
}

// Welford's update over every element from `first` on, in steps; Chan's formula merges the lanes.
__device__ inline Moments welford(const scalar_t* in, int N, int lanes) {
  Moments all = {0, 0};
  float seen = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    Moments m = {0, 0};
    float count = 0;
    for (int i = lane; i < N; i += lanes) {
      float v = value(in, i), before = v - m.mean;
      m.mean += before / ++count;
      m.squares += before * (v - m.mean);
    }
    if (count == 0) break;
    float apart = m.mean - all.mean, both = seen + count;
    all.mean += apart * (count / both);
    all.squares += m.squares + apart * apart * (seen * count / both);
    seen = both;
  }
  return all;
}

__device__ inline Moments mean_of_squares(const scalar_t* in, int N) {  // mean(x^2) - mean(x)^2, in one pass
  float sum = 0, squares = 0;
  for (int i = 0; i < N; ++i) {
    float v = value(in, i);
    sum += v;
    squares += v * v;
  }
  float mean = sum / N;
  return {mean, fmaxf(squares - N * mean * mean, 0)};
}

extern "C" __global__ void layernorm(const scalar_t* x, const scalar_t* weight, const scalar_t* bias, scalar_t* y, int M,
                                     int N, float eps) {
  long long row = blockIdx.x * 32 + threadIdx.x;
  if (row >= M) return;
  const scalar_t* in = x + row * N;
  Moments m;
  if (VARIANT == 2) {
    m = tree(in, N);
  } else if (VARIANT == 3 || VARIANT == 4) {
    m = welford(in, N, VARIANT == 3 ? 1 : 32);
  } else if (VARIANT == 15) {
    m = mean_of_squares(in, N);
  } else {
    m = two_passes(in, N);
  }
  float scale = 1.0f / sqrtf(m.squares / N + eps);
  if (VARIANT == 10) scale = as_tf32(scale);
  if (VARIANT == 11) scale = as_bf16(scale);
  for (int i = 0; i < N; ++i) {
    float normalised = (value(in, i) - m.mean) * scale;
    y[row * N + i] = ak::from_float<scalar_t>(normalised * ak::to_float(weight[i]) + ak::to_float(bias[i]));
  }
}
