/* autokernel
op = "rotary_embedding"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; one thread per row of D"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
[defaults]
THREADS = 64
[[launch]]
entry = "reference"
grid = ["ceil_div(B * H * S, THREADS)"]
block = ["THREADS"]
args = ["x", "cos", "sin", "y_r", "y_S", "B", "H", "S", "D"]
[[launch]]
entry = "contract"
grid = ["ceil_div(B * H * S, THREADS)"]
block = ["THREADS"]
args = ["x", "cos", "sin", "y", "B", "H", "S", "D"]
*/
#include "autokernel/device/convert.cuh"

// Where the elements of pair k of a row lie.
static __device__ int first_of(int k) { return INTERLEAVED ? 2 * k : k; }
static __device__ int second_of(int k, int D) { return INTERLEAVED ? 2 * k + 1 : k + D / 2; }

// Where a row's part of the tables begins.
static __device__ long long table_of(long long row, int H, int S, int D) {
  const long long batch = COS_BATCH ? row / ((long long)H * S) : 0;
  return (batch * S + row % S) * (D / 2);
}

extern "C" __global__ void reference(const scalar_t* x, const scalar_t* cos, const scalar_t* sin, double* y_r,
                                     double* y_S, int B, int H, int S, int D) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= (long long)B * H * S) return;
  const long long table = table_of(row, H, S, D);
  for (int k = 0; k < D / 2; ++k) {
    const long long first = row * D + first_of(k), second = row * D + second_of(k, D);
    const double x1 = ak::to_float(x[first]), x2 = ak::to_float(x[second]);
    const double c = ak::to_float(cos[table + k]), s = ak::to_float(sin[table + k]);
    y_r[first] = x1 * c - x2 * s;
    y_S[first] = fabs(x1 * c) + fabs(x2 * s);
    y_r[second] = x2 * c + x1 * s;
    y_S[second] = fabs(x2 * c) + fabs(x1 * s);
  }
}

extern "C" __global__ void contract(const scalar_t* x, const scalar_t* cos, const scalar_t* sin, scalar_t* y, int B,
                                    int H, int S, int D) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= (long long)B * H * S) return;
  const long long table = table_of(row, H, S, D);
  for (int k = 0; k < D / 2; ++k) {
    const long long first = row * D + first_of(k), second = row * D + second_of(k, D);
    const float x1 = ak::to_float(x[first]), x2 = ak::to_float(x[second]);
    const float c = ak::to_float(cos[table + k]), s = ak::to_float(sin[table + k]);
    y[first] = ak::from_float<scalar_t>(x1 * c - x2 * s);
    y[second] = ak::from_float<scalar_t>(x2 * c + x1 * s);
  }
}
