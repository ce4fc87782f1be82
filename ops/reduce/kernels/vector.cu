/* autokernel
op = "reduce"
about = "16-byte loads for any COLS, several in flight, warp shuffles; GROUP threads a row, short rows share a block"
dtypes = ["f32", "f16", "bf16"]
[tunables]
GROUP = [32, 64, 128, 256, 512, 1024]       # threads that share a row
ROWS_PER_BLOCK = [1, 2, 4, 8]
VEC = [1, 2, 4, 8]
UNROLL = [1, 2, 4]                          # vectors that a thread loads before it adds
[constraints]
where = [
  "VEC * elem_bytes <= 16",                 # what one load instruction moves
  "GROUP * ROWS_PER_BLOCK <= 1024",
]
[defaults]
GROUP = 128
ROWS_PER_BLOCK = 1
VEC = 4
UNROLL = 2
[[launch]]
entry = "reduce"
grid = ["ceil_div(ROWS, ROWS_PER_BLOCK)"]
block = ["GROUP", "ROWS_PER_BLOCK"]
args = ["x", "y", "ROWS", "COLS"]
*/
#include "autokernel/device/convert.cuh"

struct alignas(VEC * sizeof(scalar_t)) Pack {
  scalar_t at[VEC];
};

constexpr int kWarps = GROUP / 32;  // of a row

static __device__ float sum_of(const Pack& pack) {
  float sum = 0;
  for (int i = 0; i < VEC; ++i) sum += ak::to_float(pack.at[i]);
  return sum;
}

// Rows begin anywhere: single elements up to the first aligned vector, vectors, single elements at the end.
static __device__ float thread_sum(const scalar_t* x, long long row, int COLS) {
  const long long begin = row * COLS, end = begin + COLS;
  const long long first = (begin + VEC - 1) / VEC, last = end / VEC;  // vectors [first, last) lie in the row
  const long long head = first * VEC < end ? first * VEC : end;
  const long long tail = last * VEC > head ? last * VEC : head;
  const Pack* packs = (const Pack*)x;
  float sum = 0;
  for (long long i = begin + threadIdx.x; i < head; i += GROUP) sum += ak::to_float(x[i]);
  long long pack = first + threadIdx.x;
  for (; pack + (UNROLL - 1) * GROUP < last; pack += UNROLL * GROUP) {
    Pack loaded[UNROLL];
    for (int u = 0; u < UNROLL; ++u) loaded[u] = packs[pack + u * GROUP];
    for (int u = 0; u < UNROLL; ++u) sum += sum_of(loaded[u]);
  }
  for (; pack < last; pack += GROUP) sum += sum_of(packs[pack]);
  for (long long i = tail + threadIdx.x; i < end; i += GROUP) sum += ak::to_float(x[i]);
  return sum;
}

extern "C" __global__ void reduce(const scalar_t* x, scalar_t* y, int ROWS, int COLS) {
  const long long row = (long long)blockIdx.x * ROWS_PER_BLOCK + threadIdx.y;
  float sum = row < ROWS ? thread_sum(x, row, COLS) : 0;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (kWarps > 1) {
    __shared__ float warps[ROWS_PER_BLOCK][kWarps];
    if (threadIdx.x % 32 == 0) warps[threadIdx.y][threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += warps[threadIdx.y][warp];
  }
  if (row < ROWS && threadIdx.x == 0) y[row] = ak::from_float<scalar_t>(sum);
}
