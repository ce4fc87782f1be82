/* autokernel
op = "flash_attention"
about = "online softmax over tiles of keys; QUERIES queries and COLUMNS columns of o per block, 4 x 4 scores per thread"
dtypes = ["f32", "f16", "bf16"]
[tunables]
QUERIES = [16, 32, 64]      # of a block
KEYS = [16, 32, 64]         # of a step
COLUMNS = [64, 128]         # of o that a block makes; each group of columns computes the scores anew
[constraints]
where = ["QUERIES / 4 * (KEYS / 4) >= 32"]
needs = ["ceil_div(D, COLUMNS) <= 65535", "B * HQ <= 65535"]      # limits of a grid
[defaults]
QUERIES = 64
KEYS = 64
COLUMNS = 128
[[launch]]
entry = "attention"
grid = ["ceil_div(LQ, QUERIES)", "ceil_div(D, COLUMNS)", "B * HQ"]
block = ["QUERIES / 4 * (KEYS / 4)"]
args = ["q", "k", "v", "mask", "o", "HQ", "HKV", "LQ", "LK", "D", "scale"]
*/
#include "autokernel/device/convert.cuh"

constexpr int kAcross = KEYS / 4;  // threads that share four queries; they are neighbours in a warp
constexpr int kThreads = QUERIES / 4 * kAcross;
constexpr int kStep = 16;                // terms of a sum that are staged at a time
constexpr int kEach = COLUMNS / kAcross;  // columns of o that a thread makes

// Column of o, within the block's: groups of four neighbours, which are read from shared memory at once.
static __device__ int column_of(int j) { return j / 4 * (4 * kAcross) + threadIdx.x % kAcross * 4 + j % 4; }

// tile [kStep][kRows] = columns base .. of rows first .. of a [rows, depth] matrix, transposed; 0 beyond its edges.
template <int kRows>
static __device__ void stage(float (&tile)[kStep][kRows + 4], const scalar_t* matrix, int first, int rows, int base,
                             int depth) {
  for (int at = threadIdx.x; at < kRows * kStep; at += kThreads) {
    const int d = at % kStep, row = at / kStep;
    const bool inside = base + d < depth && first + row < rows;
    tile[d][row] = inside ? ak::to_float(matrix[(long long)(first + row) * depth + base + d]) : 0.0f;
  }
}

// scores += q k^T, for the tile of queries and a tile of keys; a thread makes 4 x 4 of it.
static __device__ void score(float (&scores)[4][4], const scalar_t* q, int first_query, int LQ, const scalar_t* k,
                             int first_key, int LK, int D) {
  __shared__ alignas(16) float queries[kStep][QUERIES + 4];
  __shared__ alignas(16) float keys[kStep][KEYS + 4];
  const int row = threadIdx.x / kAcross * 4, column = threadIdx.x % kAcross * 4;
  for (int base = 0; base < D; base += kStep) {
    stage<QUERIES>(queries, q, first_query, LQ, base, D);
    stage<KEYS>(keys, k, first_key, LK, base, D);
    __syncthreads();
#pragma unroll 4
    for (int d = 0; d < kStep; ++d) {
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) scores[i][j] += queries[d][row + i] * keys[d][column + j];
    }
    __syncthreads();
  }
}

// The largest, or the sum, of what the threads of a row have.
template <class Combine>
static __device__ float across_row(float value, Combine combine) {
  for (int distance = kAcross / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

extern "C" __global__ void attention(const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask,
                                     scalar_t* o, int HQ, int HKV, int LQ, int LK, int D, float scale) {
  __shared__ alignas(16) float values[kStep][COLUMNS];
  __shared__ float weights[QUERIES][KEYS + 1];
  const int head = blockIdx.z % HQ, batch = blockIdx.z / HQ;
  const int across = threadIdx.x % kAcross, row = threadIdx.x / kAcross * 4;  // the first of four, within the tile
  const int first_query = blockIdx.x * QUERIES, first_column = blockIdx.y * COLUMNS;
  const long long kv_head = (long long)batch * HKV + head / (HQ / HKV);
  q += (long long)blockIdx.z * LQ * D;
  o += (long long)blockIdx.z * LQ * D;
  k += kv_head * LK * D;
  v += kv_head * LK * D;
#if HAS_MASK
  mask += ((long long)(MASK_BATCH ? batch : 0) * (MASK_HEADS ? HQ : 1) + (MASK_HEADS ? head : 0)) * LQ * LK;
#endif
  const int shift = CAUSAL == 2 ? LK - LQ : 0;  // query i sees the keys up to i + shift
  const int last_query = (first_query + QUERIES < LQ ? first_query + QUERIES : LQ) - 1;
  const int end = CAUSAL && last_query + shift + 1 < LK ? last_query + shift + 1 : LK;

  float highest[4], total[4] = {}, sums[4][kEach] = {};
  for (int i = 0; i < 4; ++i) highest[i] = -ak::infinity();
  for (int first_key = 0; first_key < end; first_key += KEYS) {
    float scores[4][4] = {};
    score(scores, q, first_query, LQ, k, first_key, LK, D);
    for (int i = 0; i < 4; ++i) {
      const int query = first_query + row + i;
      float best = highest[i];
      for (int j = 0; j < 4; ++j) {
        const int key = first_key + across * 4 + j;
        const bool seen = query < LQ && key < LK && (!CAUSAL || key <= query + shift);
        scores[i][j] = seen ? scores[i][j] * scale : -ak::infinity();
#if HAS_MASK
        if (seen) scores[i][j] += ak::to_float(mask[(long long)query * LK + key]);
#endif
        best = fmaxf(best, scores[i][j]);
      }
      best = across_row(best, [](float a, float b) { return fmaxf(a, b); });
      // What was summed so far counts for less. As long as nothing is seen, there is nothing to shrink.
      const float shrink = highest[i] == -ak::infinity() ? 0.0f : expf(highest[i] - best);
      highest[i] = best;
      total[i] *= shrink;
      for (int j = 0; j < kEach; ++j) sums[i][j] *= shrink;
      for (int j = 0; j < 4; ++j) {
        const float weight = scores[i][j] == -ak::infinity() ? 0.0f : expf(scores[i][j] - best);
        total[i] += weight;
        weights[row + i][across * 4 + j] = weight;
      }
    }
    for (int base = 0; base < KEYS; base += kStep) {
      for (int at = threadIdx.x; at < kStep * COLUMNS; at += kThreads) {
        const int key = first_key + base + at / COLUMNS, column = first_column + at % COLUMNS;
        values[at / COLUMNS][at % COLUMNS] = key < LK && column < D ? ak::to_float(v[(long long)key * D + column]) : 0.0f;
      }
      __syncthreads();
#pragma unroll 4
      for (int key = 0; key < kStep; ++key) {
        for (int i = 0; i < 4; ++i) {
          const float weight = weights[row + i][base + key];
          for (int j = 0; j < kEach; ++j) sums[i][j] += weight * values[key][column_of(j)];
        }
      }
      __syncthreads();
    }
  }
  for (int i = 0; i < 4; ++i) {
    const float all = across_row(total[i], [](float a, float b) { return a + b; });
    const float inverse = all > 0 ? 1.0f / all : 0.0f;  // a query that sees nothing gives 0
    const int query = first_query + row + i;
    for (int j = 0; j < kEach; ++j) {
      const int column = first_column + column_of(j);
      if (query < LQ && column < D) o[(long long)query * D + column] = ak::from_float<scalar_t>(sums[i][j] * inverse);
    }
  }
}
