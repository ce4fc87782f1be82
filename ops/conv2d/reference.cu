/* autokernel
op = "conv2d"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; one thread per output element"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
[defaults]
THREADS = 64
[[launch]]
entry = "reference"
grid = ["ceil_div(N * K * P * Q, THREADS)"]
block = ["THREADS"]
args = ["x", "w", "bias", "residual", "y_r", "y_S", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
[[launch]]
entry = "contract"
grid = ["ceil_div(N * K * P * Q, THREADS)"]
block = ["THREADS"]
args = ["x", "w", "bias", "residual", "y", "N", "C", "H", "W", "K", "R", "S", "GROUPS", "P", "Q"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

// Sums one output element's taps in order; taps in the padding are no terms. Real is double or float.
template <class Real>
struct Sum {
  Real value, magnitude;
  long long terms;
  __device__ void add(Real term) {
    value += term;
    magnitude += term < 0 ? -term : term;
    ++terms;
  }
};

template <class Real>
static __device__ Sum<Real> correlate(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                      const scalar_t* residual, long long at, int C, int H, int W, int K, int R, int S,
                                      int GROUPS, int P, int Q) {
  // y is [N, K, P, Q] or, with NHWC, [N, P, Q, K].
  const long long k = NHWC ? at % K : at / Q / P % K;
  const long long q = NHWC ? at / K % Q : at % Q;
  const long long p = NHWC ? at / K / Q % P : at / Q % P;
  const long long n = at / ((long long)K * P * Q);
  const long long channels = C / GROUPS, first = k / (K / GROUPS) * channels;
  Sum<Real> sum = {0, 0, 0};
  for (long long c = 0; c < channels; ++c) {
    for (long long r = 0; r < R; ++r) {
      const long long h = p * STRIDE_H - PAD_H + r * DILATION_H;
      if (h < 0 || h >= H) continue;
      for (long long s = 0; s < S; ++s) {
        const long long v = q * STRIDE_W - PAD_W + s * DILATION_W;
        if (v < 0 || v >= W) continue;
        const long long pixel = NHWC ? ((n * H + h) * W + v) * C + first + c : ((n * C + first + c) * H + h) * W + v;
        const long long tap = NHWC ? ((k * R + r) * S + s) * channels + c : ((k * channels + c) * R + r) * S + s;
        sum.add((Real)ak::to_float(x[pixel]) * (Real)ak::to_float(w[tap]));
      }
    }
  }
#if HAS_BIAS
  sum.add((Real)ak::to_float(bias[k]));
#else
  (void)bias;
#endif
#if HAS_RESIDUAL
  sum.add((Real)ak::to_float(residual[at]));
#else
  (void)residual;
#endif
  return sum;
}

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                     const scalar_t* residual, double* y_r, double* y_S, int N, int C, int H, int W,
                                     int K, int R, int S, int GROUPS, int P, int Q) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (long long)N * K * P * Q) return;
  const Sum<double> sum = correlate<double>(x, w, bias, residual, at, C, H, W, K, R, S, GROUPS, P, Q);
  y_r[at] = ak::activate<ACT>(sum.value);
  y_S[at] = sqrt((double)sum.terms) * sum.magnitude;
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* w, const scalar_t* bias,
                                    const scalar_t* residual, scalar_t* y, int N, int C, int H, int W, int K, int R,
                                    int S, int GROUPS, int P, int Q) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (long long)N * K * P * Q) return;
  const Sum<float> sum = correlate<float>(x, w, bias, residual, at, C, H, W, K, R, S, GROUPS, P, Q);
  y[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum.value));
}
