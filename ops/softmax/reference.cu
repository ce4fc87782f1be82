/* autokernel
op = "softmax"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; BLOCK threads per row"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BLOCK = [1, 32, 64, 128, 256]   # what suits the device
[defaults]
BLOCK = 1
[[launch]]
entry = "reference"
grid = ["ROWS"]
block = ["BLOCK"]
args = ["x", "mask", "y_r", "y_S", "ROWS", "COLS", "scale"]
[[launch]]
entry = "contract"
grid = ["ROWS"]
block = ["BLOCK"]
args = ["x", "mask", "y", "ROWS", "COLS", "scale"]
*/
#include "autokernel/device/convert.cuh"

// The logit after scale and mask, in the precision of T.
template <class T>
static __device__ T logit(const scalar_t* x, const scalar_t* mask, long long row, long long column, int COLS, T scale) {
  const T s = scale * (T)ak::to_float(x[row * COLS + column]);
#if HAS_MASK
  return s + (T)ak::to_float(mask[(MASK_ROWS ? row * COLS : 0) + column]);
#else
  (void)mask;
  return s;
#endif
}

#if BLOCK > 1
// What all threads of the block combine to.
template <class T, class Combine>
static __device__ T over_block(T value, Combine combine) {
  __shared__ T partial[BLOCK];
  __syncthreads();
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if ((int)threadIdx.x < half) partial[threadIdx.x] = combine(partial[threadIdx.x], partial[threadIdx.x + half]);
    __syncthreads();
  }
  return partial[0];
}
#else
template <class T, class Combine>
static __device__ T over_block(T value, Combine) {
  return value;
}
#endif

struct Larger {
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ double operator()(double a, double b) const { return a + b; }
};

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* mask, double* y_r, double* y_S, int ROWS,
                                     int COLS, float scale) {
  const long long row = blockIdx.x;
  double m = logit<double>(x, mask, row, 0, COLS, scale);
  for (long long i = threadIdx.x; i < COLS; i += BLOCK) m = fmax(m, logit<double>(x, mask, row, i, COLS, scale));
  m = over_block(m, Larger());
  double sum = 0, spread = 0;
  for (long long i = threadIdx.x; i < COLS; i += BLOCK) {
    const double s = logit<double>(x, mask, row, i, COLS, scale);
    const double e = exp(s - m);
    sum += e;
    if (e > 0) spread += e * (fabs(s) + fabs(s - m));  // a masked logit of -infinity adds nothing
  }
  sum = over_block(sum, Sum());
  spread = over_block(spread, Sum()) / sum;
  const double root = sqrt((double)COLS);
  for (long long i = threadIdx.x; i < COLS; i += BLOCK) {
    const double s = logit<double>(x, mask, row, i, COLS, scale);
    const double r = exp(s - m) / sum;
    y_r[row * COLS + i] = r;
    y_S[row * COLS + i] = r > 0 ? r * (1 + fabs(s) + fabs(s - m) + spread + root) : 0;
  }
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* mask, scalar_t* y, int ROWS, int COLS,
                                    float scale) {
  const long long row = blockIdx.x;
  float m = logit<float>(x, mask, row, 0, COLS, scale);
  for (long long i = threadIdx.x; i < COLS; i += BLOCK) m = fmaxf(m, logit<float>(x, mask, row, i, COLS, scale));
  m = over_block(m, Larger());
  float sum = 0;
#if BLOCK > 1
  // The additions are one thread's, in order; the others compute what it adds.
  __shared__ float chunk[4 * BLOCK];
  for (int base = 0; base < COLS; base += 4 * BLOCK) {
    const int count = COLS - base < 4 * BLOCK ? COLS - base : 4 * BLOCK;
    for (int i = threadIdx.x; i < count; i += BLOCK) {
      chunk[i] = expf(logit<float>(x, mask, row, base + i, COLS, scale) - m);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 0; i < count; ++i) sum += chunk[i];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) chunk[0] = sum;
  __syncthreads();
  sum = chunk[0];
#else
  for (long long i = 0; i < COLS; ++i) sum += expf(logit<float>(x, mask, row, i, COLS, scale) - m);
#endif
  for (long long i = threadIdx.x; i < COLS; i += BLOCK) {
    y[row * COLS + i] = ak::from_float<scalar_t>(expf(logit<float>(x, mask, row, i, COLS, scale) - m) / sum);
  }
}
