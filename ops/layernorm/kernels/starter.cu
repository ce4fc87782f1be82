/* autokernel
op = "layernorm"
about = "one block per row, three passes (mean, variance, result), tree reductions in shared memory"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
[defaults]
THREADS = 128
[[launch]]
entry = "layernorm"
grid = ["M"]
block = ["THREADS"]
args = ["x", "weight", "bias", "residual", "y", "stream", "N", "eps"]
*/
#include "autokernel/device/convert.cuh"

// The sum over the block, in every thread.
static __device__ float block_sum(float value) {
  __shared__ float partial[THREADS];
  const int lane = threadIdx.x;
  partial[lane] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (lane < half) partial[lane] += partial[lane + half];
    __syncthreads();
  }
  const float sum = partial[0];
  __syncthreads();  // before partial is used again
  return sum;
}

extern "C" __global__ void layernorm(const scalar_t* x, const scalar_t* weight, const scalar_t* bias,
                                     const scalar_t* residual, scalar_t* y, scalar_t* stream, int N, float eps) {
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

  float sum = 0;
  for (int i = lane; i < N; i += THREADS) sum += ak::to_float(source[i]);
  const float mean = block_sum(sum) / N;

  float squares = 0;
  for (int i = lane; i < N; i += THREADS) {
    const float centred = ak::to_float(source[i]) - mean;
    squares += centred * centred;
  }
  const float rstd = 1.0f / sqrtf(block_sum(squares) / N + eps);

  for (int i = lane; i < N; i += THREADS) {
    const float normalised = (ak::to_float(source[i]) - mean) * rstd;
    y[row + i] = ak::from_float<scalar_t>(normalised * ak::to_float(weight[i]) + ak::to_float(bias[i]));
  }
}
