/* autokernel
op = "cross_entropy"
about = "one block per row, two passes (maximum, sum), tree reductions in shared memory; a second launch adds the rows"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256, 512, 1024]
[defaults]
THREADS = 128
[[workspace]]
name = "row_losses"
bytes = "4 * ROWS"
[[launch]]
entry = "row_loss"
grid = ["ROWS"]
block = ["THREADS"]
args = ["logits", "targets", "loss", "row_losses", "V", "IGNORE"]
[[launch]]
entry = "total_loss"
when = "REDUCTION > 0"
grid = [1]
block = ["THREADS"]
args = ["targets", "row_losses", "loss", "ROWS", "IGNORE"]
*/
#include "autokernel/device/convert.cuh"

struct Maximum {
  static __device__ float of(float a, float b) { return fmaxf(a, b); }
};
struct Sum {
  static __device__ float of(float a, float b) { return a + b; }
};

// All values of the block put together, in every thread.
template <class Operation>
static __device__ float over_block(float value) {
  __shared__ float partial[THREADS];
  const int lane = threadIdx.x;
  partial[lane] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (lane < half) partial[lane] = Operation::of(partial[lane], partial[lane + half]);
    __syncthreads();
  }
  const float all = partial[0];
  __syncthreads();  // before partial is used again
  return all;
}

extern "C" __global__ void row_loss(const scalar_t* logits, const long long* targets, float* loss, float* row_losses,
                                    int V, int IGNORE) {
  const long long target = targets[blockIdx.x];
  const scalar_t* x = logits + (long long)blockIdx.x * V;
  float* out = (REDUCTION ? row_losses : loss) + blockIdx.x;
  if (target == IGNORE) {  // the whole block leaves
    if (threadIdx.x == 0) *out = 0;
    return;
  }
  float highest = -ak::infinity();
  for (int i = threadIdx.x; i < V; i += THREADS) highest = fmaxf(highest, ak::to_float(x[i]));
  highest = over_block<Maximum>(highest);

  float sum = 0;
  for (int i = threadIdx.x; i < V; i += THREADS) sum += expf(ak::to_float(x[i]) - highest);
  sum = over_block<Sum>(sum);
  if (threadIdx.x == 0) *out = highest - ak::to_float(x[target]) + logf(sum);
}

extern "C" __global__ void total_loss(const long long* targets, const float* row_losses, float* loss, int ROWS,
                                      int IGNORE) {
  float sum = 0, count = 0;  // whole numbers up to 2^24 are exact
  for (int row = threadIdx.x; row < ROWS; row += THREADS) {
    sum += row_losses[row];
    count += targets[row] == IGNORE ? 0.0f : 1.0f;
  }
  sum = over_block<Sum>(sum);
  count = over_block<Sum>(count);
  if (threadIdx.x == 0) loss[0] = REDUCTION == 1 ? sum / count : sum;
}
