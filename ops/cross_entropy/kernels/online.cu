/* autokernel
op = "cross_entropy"
about = "logits read once (online maximum and sum) in 16-byte loads for any V; the last block to finish adds the rows"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [64, 128, 256, 512, 1024]
VEC = [1, 2, 4, 8]
[constraints]
where = ["VEC * elem_bytes <= 16"]            # what one load instruction moves
[defaults]
THREADS = 256
VEC = 4
[[workspace]]
name = "row_losses"
bytes = "4 * ROWS"
[[workspace]]
name = "finished"                             # blocks that have written their row
bytes = 4
zeroed = true
[[launch]]
entry = "cross_entropy"
grid = ["ROWS"]
block = ["THREADS"]
args = ["logits", "targets", "loss", "row_losses", "finished", "ROWS", "V", "IGNORE"]
*/
#include "autokernel/device/convert.cuh"

struct alignas(VEC * sizeof(scalar_t)) Pack {
  scalar_t at[VEC];
};

// The maximum of some logits, and the sum of exp(logit - maximum).
struct Running {
  float highest, sum;
};

static __device__ Running merge(Running a, Running b) {
  const float highest = fmaxf(a.highest, b.highest);
  if (highest == -ak::infinity()) return a;  // nothing seen yet: infinity - infinity would be NaN
  return {highest, a.sum * expf(a.highest - highest) + b.sum * expf(b.highest - highest)};
}

template <int kCount>
static __device__ void see(Running& seen, const float (&logits)[kCount]) {
  float highest = logits[0];
  for (int i = 1; i < kCount; ++i) highest = fmaxf(highest, logits[i]);
  if (highest > seen.highest) {
    seen.sum *= expf(seen.highest - highest);
    seen.highest = highest;
  }
  if (seen.highest == -ak::infinity()) return;
  for (int i = 0; i < kCount; ++i) seen.sum += expf(logits[i] - seen.highest);
}

// Rows begin anywhere: single elements up to the first aligned vector, vectors, single elements at the end.
static __device__ Running of_thread(const scalar_t* logits, long long row, int V) {
  const long long begin = row * V, end = begin + V;
  const long long first = (begin + VEC - 1) / VEC, last = end / VEC;  // vectors [first, last) lie in the row
  const long long head = first * VEC < end ? first * VEC : end;
  const long long tail = last * VEC > head ? last * VEC : head;
  Running seen = {-ak::infinity(), 0};
  float one[1], many[VEC];
  for (long long i = begin + threadIdx.x; i < head; i += THREADS) {
    one[0] = ak::to_float(logits[i]);
    see(seen, one);
  }
  for (long long pack = first + threadIdx.x; pack < last; pack += THREADS) {
    const Pack loaded = ((const Pack*)logits)[pack];
    for (int i = 0; i < VEC; ++i) many[i] = ak::to_float(loaded.at[i]);
    see(seen, many);
  }
  for (long long i = tail + threadIdx.x; i < end; i += THREADS) {
    one[0] = ak::to_float(logits[i]);
    see(seen, one);
  }
  return seen;
}

// All threads' parts, in every thread.
static __device__ Running of_block(Running value) {
  __shared__ Running warps[THREADS / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    const Running other = {__shfl_xor_sync(0xffffffffu, value.highest, offset),
                           __shfl_xor_sync(0xffffffffu, value.sum, offset)};
    value = merge(value, other);
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  Running all = warps[0];
  for (int warp = 1; warp < THREADS / 32; ++warp) all = merge(all, warps[warp]);
  return all;
}

// Sum and count of all rows, in a fixed order whichever block it is; thread 0 stores them.
static __device__ void store_total(const volatile float* row_losses, const long long* targets, float* loss, int ROWS,
                                   int IGNORE) {
  __shared__ float sums[THREADS / 32], counts[THREADS / 32];
  float sum = 0, count = 0;  // whole numbers up to 2^24 are exact
  for (int row = threadIdx.x; row < ROWS; row += THREADS) {
    sum += row_losses[row];
    count += targets[row] == IGNORE ? 0.0f : 1.0f;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    count += __shfl_xor_sync(0xffffffffu, count, offset);
  }
  if (threadIdx.x % 32 == 0) {
    sums[threadIdx.x / 32] = sum;
    counts[threadIdx.x / 32] = count;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  sum = count = 0;
  for (int warp = 0; warp < THREADS / 32; ++warp) {
    sum += sums[warp];
    count += counts[warp];
  }
  loss[0] = REDUCTION == 1 ? sum / count : sum;
}

extern "C" __global__ void cross_entropy(const scalar_t* logits, const long long* targets, float* loss,
                                         float* row_losses, unsigned* finished, int ROWS, int V, int IGNORE) {
  const long long row = blockIdx.x, target = targets[row];
  float value = 0;
  if (target != IGNORE) {  // the whole block goes the same way
    const Running seen = of_block(of_thread(logits, row, V));
    value = seen.highest - ak::to_float(logits[row * V + target]) + logf(seen.sum);
  }
#if REDUCTION == 0
  (void)row_losses, (void)finished, (void)ROWS;
  if (threadIdx.x == 0) loss[row] = value;
#else
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    row_losses[row] = value;
    __threadfence();  // the loss is seen before the count
    is_last = atomicAdd(finished, 1u) == (unsigned)ROWS - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  store_total(row_losses, targets, loss, ROWS, IGNORE);
#endif
}
