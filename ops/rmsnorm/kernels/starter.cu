/* autokernel
op = "rmsnorm"
about = "one block per row, the row read twice, a tree reduction in shared memory"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
[defaults]
THREADS = 128
[[launch]]
entry = "rmsnorm"
grid = ["M"]
block = ["THREADS"]
args = ["x", "weight", "residual", "y", "stream", "N", "eps"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void rmsnorm(const scalar_t* x, const scalar_t* weight, const scalar_t* residual, scalar_t* y,
                                   scalar_t* stream, int N, float eps) {
  __shared__ float partial[THREADS];
  const int lane = threadIdx.x;
  const long long row = (long long)blockIdx.x * N;
#if HAS_RESIDUAL
  // The stream is rounded when it is stored, and the rounded values are what is normalised.
  for (int i = lane; i < N; i += THREADS) {
    stream[row + i] = ak::from_float<scalar_t>(ak::to_float(x[row + i]) + ak::to_float(residual[row + i]));
  }
  const scalar_t* source = stream + row;  // each thread reads back what it wrote
#else
  const scalar_t* source = x + row;
#endif

  float squares = 0;
  for (int i = lane; i < N; i += THREADS) {
    const float v = ak::to_float(source[i]);
    squares += v * v;
  }
  partial[lane] = squares;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (lane < half) partial[lane] += partial[lane + half];
    __syncthreads();
  }

  const float rstd = 1.0f / sqrtf(partial[0] / N + eps);
  for (int i = lane; i < N; i += THREADS) {
    y[row + i] = ak::from_float<scalar_t>(ak::to_float(source[i]) * rstd * ak::to_float(weight[i]));
  }
}
