/* autokernel
op = "rmsnorm"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; BLOCK threads per row"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BLOCK = [1, 32, 64, 128, 256]   # what suits the device
[defaults]
BLOCK = 1
[[launch]]
entry = "reference"
grid = ["M"]
block = ["BLOCK"]
args = ["x", "weight", "residual", "y_r", "y_S", "y_I0", "stream_r", "stream_S", "stream_I0", "M", "N", "eps"]
[[launch]]
entry = "contract"
grid = ["M"]
block = ["BLOCK"]
args = ["x", "weight", "residual", "y", "stream", "M", "N", "eps"]
*/
#include "autokernel/device/convert.cuh"

// What is normalised: x, or the sum x + residual rounded to the tensor's type (as every implementation stores it).
static __device__ float source(const scalar_t* x, const scalar_t* residual, long long at) {
#if HAS_RESIDUAL
  return ak::to_float(ak::from_float<scalar_t>(ak::to_float(x[at]) + ak::to_float(residual[at])));
#else
  (void)residual;
  return ak::to_float(x[at]);
#endif
}

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* weight, const scalar_t* residual, double* y_r,
                                     double* y_S, double* y_I0, double* stream_r, double* stream_S, double* stream_I0,
                                     int M, int N, float eps) {
  const long long row = (long long)blockIdx.x * N;
  double squares = 0;
  for (long long i = threadIdx.x; i < N; i += BLOCK) {
    const double v = source(x, residual, row + i);
    squares += v * v;
  }
#if BLOCK > 1
  __shared__ double partial[BLOCK];
  partial[threadIdx.x] = squares;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if ((int)threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  squares = partial[0];
#endif
  const double rstd = 1.0 / sqrt(squares / N + (double)eps);
  const double root_n = sqrt((double)N);
  for (long long i = threadIdx.x; i < N; i += BLOCK) {
    const long long at = row + i;
    const double r = source(x, residual, at) * rstd * (double)ak::to_float(weight[i]);
    y_r[at] = r;
    y_S[at] = root_n * fabs(r);
    y_I0[at] = fabs(r);
#if HAS_RESIDUAL
    const double sum = (double)ak::to_float(x[at]) + (double)ak::to_float(residual[at]);
    stream_r[at] = sum;
    stream_S[at] = fabs(sum);  // one fp32 addition
    stream_I0[at] = 0;
#endif
  }
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* weight, const scalar_t* residual, scalar_t* y,
                                    scalar_t* stream, int M, int N, float eps) {
  const long long row = (long long)blockIdx.x * N;
  float squares = 0;
#if BLOCK > 1
  // The additions are one thread's, in order; the others fetch what it adds.
  __shared__ float chunk[4 * BLOCK];
  for (int base = 0; base < N; base += 4 * BLOCK) {
    const int count = N - base < 4 * BLOCK ? N - base : 4 * BLOCK;
    for (int i = threadIdx.x; i < count; i += BLOCK) chunk[i] = source(x, residual, row + base + i);
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 0; i < count; ++i) squares += chunk[i] * chunk[i];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) chunk[0] = squares;
  __syncthreads();
  squares = chunk[0];
#else
  for (long long i = 0; i < N; ++i) {
    const float v = source(x, residual, row + i);
    squares += v * v;
  }
#endif
  const float rstd = 1.0f / sqrtf(squares / (float)N + eps);
  for (long long i = threadIdx.x; i < N; i += BLOCK) {
    const long long at = row + i;
    const float v = source(x, residual, at);
    y[at] = ak::from_float<scalar_t>(v * rstd * ak::to_float(weight[i]));
#if HAS_RESIDUAL
    stream[at] = ak::from_float<scalar_t>(v);
#endif
  }
}
