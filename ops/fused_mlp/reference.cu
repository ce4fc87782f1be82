/* autokernel
op = "fused_mlp"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; a block makes one row, THREADS hidden values at a time"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
COLUMNS = [4, 8, 16]                    # of y that a thread makes; the hidden values are computed anew for more
[defaults]
THREADS = 64
COLUMNS = 8
[[launch]]
entry = "reference"
grid = ["M", "ceil_div(D, THREADS * COLUMNS)"]
block = ["THREADS"]
args = ["x", "w_gate", "w_up", "w_down", "y_r", "y_S", "y_I0", "D", "H"]
[[launch]]
entry = "contract"
grid = ["M", "ceil_div(D, THREADS * COLUMNS)"]
block = ["THREADS"]
args = ["x", "w_gate", "w_up", "w_down", "y", "D", "H"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

// A sum of products, in order, and of their absolute values.
template <class Real>
struct Dot {
  Real sum, magnitude;
};

template <class Real>
static __device__ Dot<Real> dot(const scalar_t* a, const scalar_t* b, int terms) {
  Dot<Real> result = {0, 0};
  for (int i = 0; i < terms; ++i) {
    const Real term = (Real)ak::to_float(a[i]) * (Real)ak::to_float(b[i]);
    result.sum += term;
    result.magnitude += term < 0 ? -term : term;
  }
  return result;
}

// The derivative of ak::activate<ACT>.
static __device__ double slope(double x) {
  if (ACT == 1) return x < 0 ? 0 : 1;
  if (ACT == 2) {
    const double root = 0.7978845608028654;  // sqrt(2 / pi)
    const double t = tanh(root * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
  }
  if (ACT == 3) {
    const double density = 0.3989422804014327 * exp(-0.5 * x * x);  // 1 / sqrt(2 pi)
    return 0.5 * (1 + erf(x * 0.7071067811865476)) + x * density;
  }
  if (ACT == 4) {
    const double share = 1 / (1 + exp(-x));
    return share * (1 + x * (1 - share));
  }
  return 1;
}

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* w_gate, const scalar_t* w_up,
                                     const scalar_t* w_down, double* y_r, double* y_S, double* y_I0, int D, int H) {
  __shared__ double hidden[THREADS], rounded[THREADS], spread[THREADS];
  const long long row = blockIdx.x;
  const int lane = threadIdx.x, first = blockIdx.y * THREADS * COLUMNS + lane;
  double sums[COLUMNS] = {}, spreads[COLUMNS] = {}, magnitudes[COLUMNS] = {}, squares[COLUMNS] = {};
  for (int base = 0; base < H; base += THREADS) {
    if (base + lane < H) {
      const Dot<double> gate = dot<double>(x + row * D, w_gate + (long long)(base + lane) * D, D);
      const Dot<double> up = dot<double>(x + row * D, w_up + (long long)(base + lane) * D, D);
      const double opened = ak::activate<ACT>(gate.sum);
      hidden[lane] = opened * up.sum;
      rounded[lane] = hidden[lane] == 0 ? 0 : fmax(fabs(hidden[lane]), (double)ak::smallest_normal<scalar_t>());
      spread[lane] = fabs(opened) * up.magnitude + fabs(up.sum * slope(gate.sum)) * gate.magnitude;
      if (ACT == 2 || ACT == 3) spread[lane] += fabs(gate.sum * up.sum);  // 1 + tanh, 1 + erf cancel in the left tail
    }
    __syncthreads();
    for (int c = 0; c < COLUMNS; ++c) {
      const int column = first + c * THREADS;
      if (column >= D) break;
      for (int i = 0; i < THREADS && base + i < H; ++i) {
        const double weight = ak::to_float(w_down[(long long)column * H + base + i]);
        const double term = weight * hidden[i];
        sums[c] += term;
        spreads[c] += fabs(weight) * spread[i];
        magnitudes[c] += fabs(term);
        squares[c] += weight * rounded[i] * (weight * rounded[i]);
      }
    }
    __syncthreads();
  }
  for (int c = 0; c < COLUMNS; ++c) {
    const int column = first + c * THREADS;
    if (column >= D) break;
    y_r[row * D + column] = sums[c];
    y_S[row * D + column] = sqrt((double)D) * spreads[c] + sqrt((double)H) * magnitudes[c];
    y_I0[row * D + column] = sqrt(squares[c]);
  }
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* w_gate, const scalar_t* w_up,
                                    const scalar_t* w_down, scalar_t* y, int D, int H) {
  __shared__ float hidden[THREADS];
  const long long row = blockIdx.x;
  const int lane = threadIdx.x, first = blockIdx.y * THREADS * COLUMNS + lane;
  float sums[COLUMNS] = {};
  for (int base = 0; base < H; base += THREADS) {
    if (base + lane < H) {
      const float gate = dot<float>(x + row * D, w_gate + (long long)(base + lane) * D, D).sum;
      const float up = dot<float>(x + row * D, w_up + (long long)(base + lane) * D, D).sum;
      hidden[lane] = ak::activate<ACT>(gate) * up;
    }
    __syncthreads();
    for (int c = 0; c < COLUMNS; ++c) {
      const int column = first + c * THREADS;
      if (column >= D) break;
      for (int i = 0; i < THREADS && base + i < H; ++i) {
        sums[c] += ak::to_float(w_down[(long long)column * H + base + i]) * hidden[i];
      }
    }
    __syncthreads();
  }
  for (int c = 0; c < COLUMNS; ++c) {
    const int column = first + c * THREADS;
    if (column < D) y[row * D + column] = ak::from_float<scalar_t>(sums[c]);
  }
}
