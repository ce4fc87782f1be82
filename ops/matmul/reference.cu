/* autokernel
op = "matmul"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; one thread per output element"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
[defaults]
THREADS = 64
[[launch]]
entry = "reference"
grid = ["ceil_div(BATCH * M * N, THREADS)"]
block = ["THREADS"]
args = ["a", "b", "bias", "c_r", "c_S", "BATCH", "M", "N", "K"]
[[launch]]
entry = "contract"
grid = ["ceil_div(BATCH * M * N, THREADS)"]
block = ["THREADS"]
args = ["a", "b", "bias", "c", "BATCH", "M", "N", "K"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"

// Where one output element finds its row of a and its column of b.
struct Element {
  const scalar_t* a;
  const scalar_t* b;
  long long a_step, b_step;
  long long column;
};

static __device__ Element element(const scalar_t* a, const scalar_t* b, long long at, int M, int N, int K) {
  const long long column = at % N, row = at / N % M, batch = at / N / M;
  Element e;
  e.a = a + batch * M * K + (TRANS_A ? row : row * K);
  e.b = b + batch * K * N + (TRANS_B ? column * K : column);
  e.a_step = TRANS_A ? M : 1;
  e.b_step = TRANS_B ? 1 : N;
  e.column = column;
  return e;
}

extern "C" __global__ void reference(const scalar_t* a, const scalar_t* b, const scalar_t* bias, double* c_r,
                                     double* c_S, int BATCH, int M, int N, int K) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (long long)BATCH * M * N) return;
  const Element e = element(a, b, at, M, N, K);
  double sum = 0, magnitude = 0;
  for (long long k = 0; k < K; ++k) {
    const double term = (double)ak::to_float(e.a[k * e.a_step]) * (double)ak::to_float(e.b[k * e.b_step]);
    sum += term;
    magnitude += fabs(term);
  }
#if HAS_BIAS
  const double shift = ak::to_float(bias[e.column]);
  sum += shift;
  magnitude += fabs(shift);
#endif
  c_r[at] = ak::activate<ACT>(sum);
  c_S[at] = sqrt((double)K + HAS_BIAS) * magnitude;
}

extern "C" __global__ void contract(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int BATCH,
                                    int M, int N, int K) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (long long)BATCH * M * N) return;
  const Element e = element(a, b, at, M, N, K);
  float sum = 0;
  for (long long k = 0; k < K; ++k) sum += ak::to_float(e.a[k * e.a_step]) * ak::to_float(e.b[k * e.b_step]);
#if HAS_BIAS
  sum += ak::to_float(bias[e.column]);
#endif
  c[at] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));
}
