/* autokernel
op = "layernorm"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; one thread per row"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
[defaults]
THREADS = 64
[[launch]]
entry = "reference"
grid = ["ceil_div(M, THREADS)"]
block = ["THREADS"]
args = ["x", "weight", "bias", "residual", "y_r", "y_S", "y_I0", "stream_r", "stream_S", "stream_I0", "M", "N", "eps"]
[[launch]]
entry = "contract"
grid = ["ceil_div(M, THREADS)"]
block = ["THREADS"]
args = ["x", "weight", "bias", "residual", "y", "stream", "M", "N", "eps"]
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

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* weight, const scalar_t* bias,
                                     const scalar_t* residual, double* y_r, double* y_S, double* y_I0, double* stream_r,
                                     double* stream_S, double* stream_I0, int M, int N, float eps) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M) return;
  double sum = 0, sizes = 0, squares = 0;
  for (long long i = 0; i < N; ++i) {
    const double v = source(x, residual, row * N + i);
    sum += v;
    sizes += fabs(v);
  }
  const double mean = sum / N;
  for (long long i = 0; i < N; ++i) {
    const double centred = source(x, residual, row * N + i) - mean;
    squares += centred * centred;
  }
  const double rstd = 1.0 / sqrt(squares / N + (double)eps);
  const double root_n = sqrt((double)N);
  for (long long i = 0; i < N; ++i) {
    const long long at = row * N + i;
    const double centred = source(x, residual, at) - mean;
    const double w = ak::to_float(weight[i]), shift = ak::to_float(bias[i]);
    y_r[at] = centred * rstd * w + shift;
    // What rounding does to the mean goes with the terms' sizes, not with what is left of them (ADR 10).
    y_S[at] = root_n * ((sizes / N + fabs(centred)) * rstd * fabs(w) + fabs(shift));
    y_I0[at] = fabs(centred * rstd * w);
#if HAS_RESIDUAL
    const double added = (double)ak::to_float(x[at]) + (double)ak::to_float(residual[at]);
    stream_r[at] = added;
    stream_S[at] = fabs(added);  // one fp32 addition
    stream_I0[at] = 0;
#endif
  }
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* weight, const scalar_t* bias,
                                    const scalar_t* residual, scalar_t* y, scalar_t* stream, int M, int N, float eps) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M) return;
  float sum = 0, squares = 0;
  for (long long i = 0; i < N; ++i) sum += source(x, residual, row * N + i);
  const float mean = sum / (float)N;
  for (long long i = 0; i < N; ++i) {
    const float centred = source(x, residual, row * N + i) - mean;
    squares += centred * centred;
  }
  const float rstd = 1.0f / sqrtf(squares / (float)N + eps);
  for (long long i = 0; i < N; ++i) {
    const long long at = row * N + i;
    const float v = source(x, residual, at);
    y[at] = ak::from_float<scalar_t>((v - mean) * rstd * ak::to_float(weight[i]) + ak::to_float(bias[i]));
#if HAS_RESIDUAL
    stream[at] = ak::from_float<scalar_t>(v);
#endif
  }
}
