/* autokernel
op = "cross_entropy"
about = "trusted reference: fp64 losses with their error bounds, and the fp32 contract; one thread per row, one for totals"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
[defaults]
THREADS = 64
[[workspace]]
name = "row_r"
bytes = "8 * ROWS"
[[workspace]]
name = "row_S"
bytes = "8 * ROWS"
[[workspace]]
name = "row_b"
bytes = "4 * ROWS"
[[launch]]
entry = "reference"
grid = ["ceil_div(ROWS, THREADS)"]
block = ["THREADS"]
args = ["logits", "targets", "loss_r", "loss_S", "row_r", "row_S", "ROWS", "V", "IGNORE"]
[[launch]]
entry = "reference_total"
grid = [1]
block = [1]
args = ["targets", "row_r", "row_S", "loss_r", "loss_S", "ROWS", "IGNORE"]
[[launch]]
entry = "contract"
grid = ["ceil_div(ROWS, THREADS)"]
block = ["THREADS"]
args = ["logits", "targets", "loss", "row_b", "ROWS", "V", "IGNORE"]
[[launch]]
entry = "contract_total"
grid = [1]
block = [1]
args = ["targets", "row_b", "loss", "ROWS", "IGNORE"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void reference(const scalar_t* logits, const long long* targets, double* loss_r, double* loss_S,
                                     double* row_r, double* row_S, int ROWS, int V, int IGNORE) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  const scalar_t* x = logits + row * V;
  double r = 0, size = 0;
  if (targets[row] != IGNORE) {
    double m = ak::to_float(x[0]);
    for (long long i = 1; i < V; ++i) m = fmax(m, (double)ak::to_float(x[i]));
    double sum = 0, spread = 0;
    for (long long i = 0; i < V; ++i) {
      const double below = ak::to_float(x[i]) - m, e = exp(below);
      sum += e;
      if (e > 0) spread += e * fabs(below);  // a logit of -infinity adds nothing
    }
    const double lse = m + log(sum), at_target = ak::to_float(x[targets[row]]);
    r = lse - at_target;
    size = fabs(lse) + fabs(at_target) + spread / sum + sqrt((double)V);
  }
  (REDUCTION ? row_r : loss_r)[row] = r;
  (REDUCTION ? row_S : loss_S)[row] = size;
}

// The mean or sum of the rows; a mean of no rows is 0 / 0.
extern "C" __global__ void reference_total(const long long* targets, const double* row_r, const double* row_S,
                                           double* loss_r, double* loss_S, int ROWS, int IGNORE) {
  if (REDUCTION == 0) return;
  double sum = 0, size = 0, magnitude = 0;
  long long count = 0;
  for (long long row = 0; row < ROWS; ++row) {
    count += targets[row] != IGNORE;
    sum += row_r[row];
    size += row_S[row];
    magnitude += fabs(row_r[row]);
  }
  const double divisor = REDUCTION == 1 ? (double)count : 1.0;
  loss_r[0] = sum / divisor;
  loss_S[0] = count > 0 ? (size + sqrt((double)count) * magnitude) / divisor : 0.0;
}

extern "C" __global__ void contract(const scalar_t* logits, const long long* targets, float* loss, float* row_b,
                                    int ROWS, int V, int IGNORE) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  const scalar_t* x = logits + row * V;
  float b = 0;
  if (targets[row] != IGNORE) {
    float m = ak::to_float(x[0]), sum = 0;
    for (long long i = 1; i < V; ++i) m = fmaxf(m, ak::to_float(x[i]));
    for (long long i = 0; i < V; ++i) sum += expf(ak::to_float(x[i]) - m);
    b = m + logf(sum) - ak::to_float(x[targets[row]]);
  }
  (REDUCTION ? row_b : loss)[row] = b;
}

extern "C" __global__ void contract_total(const long long* targets, const float* row_b, float* loss, int ROWS,
                                          int IGNORE) {
  if (REDUCTION == 0) return;
  float sum = 0;
  int count = 0;
  for (long long row = 0; row < ROWS; ++row) {
    count += targets[row] != IGNORE;
    sum += row_b[row];
  }
  loss[0] = REDUCTION == 1 ? sum / (float)count : sum;
}
