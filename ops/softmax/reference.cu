/* autokernel
op = "softmax"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; one thread per row"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
[defaults]
THREADS = 64
[[launch]]
entry = "reference"
grid = ["ceil_div(ROWS, THREADS)"]
block = ["THREADS"]
args = ["x", "mask", "y_r", "y_S", "ROWS", "COLS", "scale"]
[[launch]]
entry = "contract"
grid = ["ceil_div(ROWS, THREADS)"]
block = ["THREADS"]
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

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* mask, double* y_r, double* y_S, int ROWS,
                                     int COLS, float scale) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  double m = logit<double>(x, mask, row, 0, COLS, scale);
  for (long long i = 1; i < COLS; ++i) m = fmax(m, logit<double>(x, mask, row, i, COLS, scale));
  double sum = 0, spread = 0;
  for (long long i = 0; i < COLS; ++i) {
    const double s = logit<double>(x, mask, row, i, COLS, scale);
    const double e = exp(s - m);
    sum += e;
    if (e > 0) spread += e * (fabs(s) + fabs(s - m));  // a masked logit of -infinity adds nothing
  }
  spread /= sum;
  const double root = sqrt((double)COLS);
  for (long long i = 0; i < COLS; ++i) {
    const double s = logit<double>(x, mask, row, i, COLS, scale);
    const double r = exp(s - m) / sum;
    y_r[row * COLS + i] = r;
    y_S[row * COLS + i] = r > 0 ? r * (1 + fabs(s) + fabs(s - m) + spread + root) : 0;
  }
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* mask, scalar_t* y, int ROWS, int COLS,
                                    float scale) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  float m = logit<float>(x, mask, row, 0, COLS, scale);
  for (long long i = 1; i < COLS; ++i) m = fmaxf(m, logit<float>(x, mask, row, i, COLS, scale));
  float sum = 0;
  for (long long i = 0; i < COLS; ++i) sum += expf(logit<float>(x, mask, row, i, COLS, scale) - m);
  for (long long i = 0; i < COLS; ++i) {
    y[row * COLS + i] = ak::from_float<scalar_t>(expf(logit<float>(x, mask, row, i, COLS, scale) - m) / sum);
  }
}
