/* autokernel
op = "reduce"
about = "trusted reference: fp64 sums with their error bounds, and the fp32 contract; one thread per row"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
[defaults]
THREADS = 64
[[launch]]
entry = "reference"
grid = ["ceil_div(ROWS, THREADS)"]
block = ["THREADS"]
args = ["x", "y_r", "y_S", "ROWS", "COLS"]
[[launch]]
entry = "contract"
grid = ["ceil_div(ROWS, THREADS)"]
block = ["THREADS"]
args = ["x", "y", "ROWS", "COLS"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void reference(const scalar_t* x, double* y_r, double* y_S, int ROWS, int COLS) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  double sum = 0, magnitude = 0;
  for (long long i = 0; i < COLS; ++i) {
    const double term = ak::to_float(x[row * COLS + i]);
    sum += term;
    magnitude += fabs(term);
  }
  y_r[row] = sum;
  y_S[row] = sqrt((double)COLS) * magnitude;
}

extern "C" __global__ void contract(const scalar_t* x, scalar_t* y, int ROWS, int COLS) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  float sum = 0;
  for (long long i = 0; i < COLS; ++i) sum += ak::to_float(x[row * COLS + i]);
  y[row] = ak::from_float<scalar_t>(sum);
}
