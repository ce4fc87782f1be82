/* autokernel
op = "flash_attention"
about = "tensor cores (mma.sync): 16 queries a warp, their scores and outputs in registers, online softmax over tiles of keys"
dtypes = ["f16", "bf16"]
specialize = ["D"]
[tunables]
WARPS = [1, 2, 4, 8]            # of a block; each makes 16 queries
KEYS = [16, 32, 64, 128]        # of a step
STAGES = [2, 3]                 # tiles of keys and values in shared memory
[constraints]
where = ["(16 * WARPS + 2 * STAGES * KEYS) * D * 2 <= max_shared_bytes"]
needs = ["D % 16 == 0", "D <= 256", "B * HQ <= 65535"]
[defaults]
WARPS = 4
KEYS = 32
STAGES = 2
[[launch]]
entry = "attention"
grid = ["ceil_div(LQ, 16 * WARPS)", "B * HQ"]
block = ["32 * WARPS"]
shared_bytes = "(16 * WARPS + 2 * STAGES * KEYS) * D * 2"
args = ["q", "k", "v", "mask", "o", "HQ", "HKV", "LQ", "LK", "scale"]
*/
#include "autokernel/device/convert.cuh"
#include "autokernel/device/mma.cuh"

constexpr int kThreads = 32 * WARPS, kQueries = 16 * WARPS, kTile = KEYS * kD;
constexpr float kLog2E = 1.4426950408889634f;

// A head's tensors, and which of its queries the block makes.
struct Head {
  const scalar_t* q;
  const scalar_t* k;
  const scalar_t* v;
  const scalar_t* mask;
  int LQ, LK, first_query;
};

// The logits of 16 queries and KEYS keys of a warp, in powers of two; -infinity where a key is hidden. `sums`: q k.
static __device__ void mask_scores(float (&scores)[KEYS / 8][4], const Head& h, int first_key, float scale) {
  const int lane = threadIdx.x % 32, first_row = h.first_query + threadIdx.x / 32 * 16;
  const int shift = CAUSAL == 2 ? h.LK - h.LQ : 0;  // query i sees the keys up to i + shift
  const bool all = !HAS_MASK && first_key + KEYS <= h.LK && (!CAUSAL || first_key + KEYS - 1 <= first_row + shift);
#pragma unroll
  for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      scores[j][i] *= scale;
      if (all) continue;
      const int query = first_row + lane / 4 + i / 2 * 8, key = first_key + 8 * j + lane % 4 * 2 + i % 2;
      const bool seen = query < h.LQ && key < h.LK && (!CAUSAL || key <= query + shift);
#if HAS_MASK
      if (seen) scores[j][i] += kLog2E * ak::to_float(h.mask[(long long)query * h.LK + key]);
#endif
      if (!seen) scores[j][i] = -ak::infinity();
    }
  }
}

// What four lanes have of one query.
static __device__ float highest_of_row(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xffffffffu, value, 2));
}
static __device__ float sum_of_row(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

// The two rows of a lane: what was found so far.
struct Rows {
  float highest[2], total[2];
  float sums[kD / 8][4];
};

// Scores become weights. What was summed so far counts for less where a higher score is found.
static __device__ void weigh(float (&scores)[KEYS / 8][4], Rows& rows) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float best = rows.highest[half];
#pragma unroll
    for (int j = 0; j < KEYS / 8; ++j) best = fmaxf(best, fmaxf(scores[j][2 * half], scores[j][2 * half + 1]));
    best = highest_of_row(best);
    const float base = best == -ak::infinity() ? 0.0f : best;  // as long as nothing is seen
    const float shrink = exp2f(rows.highest[half] - base);
    rows.highest[half] = best;
    rows.total[half] *= shrink;
#pragma unroll
    for (int j = 0; j < kD / 8; ++j) {
      rows.sums[j][2 * half] *= shrink;
      rows.sums[j][2 * half + 1] *= shrink;
    }
#pragma unroll
    for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[j][i] = exp2f(scores[j][i] - base);
        rows.total[half] += scores[j][i];
      }
    }
  }
}

static __device__ void fetch_stage(scalar_t* stage, const Head& h, int first_key) {
  ak::copy_tile<KEYS, kD, kThreads>(stage, h.k, first_key, h.LK, 0, kD);
  ak::copy_tile<KEYS, kD, kThreads>(stage + kTile, h.v, first_key, h.LK, 0, kD);
}

// One step: the scores of a tile of keys, and what their values add to the sums.
static __device__ void attend(Rows& rows, const unsigned (&queries)[kD / 16][4], const scalar_t* stage, const Head& h,
                              int first_key, float scale) {
  float scores[KEYS / 8][4] = {};
#pragma unroll
  for (int d = 0; d < kD / 16; ++d) {
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j) {
      unsigned keys[4];
      ak::load_right<kD, true>(keys, stage, 16 * d, 16 * j);
      ak::multiply_add<scalar_t>(scores[2 * j], queries[d], keys[0], keys[1]);
      ak::multiply_add<scalar_t>(scores[2 * j + 1], queries[d], keys[2], keys[3]);
    }
  }
  mask_scores(scores, h, first_key, scale);
  weigh(scores, rows);
#pragma unroll
  for (int j = 0; j < KEYS / 16; ++j) {
    // A warp's sums lie in its registers just as the left factor of the next product does.
    const unsigned weights[4] = {
        ak::pack<scalar_t>(scores[2 * j][0], scores[2 * j][1]), ak::pack<scalar_t>(scores[2 * j][2], scores[2 * j][3]),
        ak::pack<scalar_t>(scores[2 * j + 1][0], scores[2 * j + 1][1]),
        ak::pack<scalar_t>(scores[2 * j + 1][2], scores[2 * j + 1][3])};
#pragma unroll
    for (int d = 0; d < kD / 16; ++d) {
      unsigned values[4];
      ak::load_right<kD, false>(values, stage + kTile, 16 * j, 16 * d);
      ak::multiply_add<scalar_t>(rows.sums[2 * d], weights, values[0], values[1]);
      ak::multiply_add<scalar_t>(rows.sums[2 * d + 1], weights, values[2], values[3]);
    }
  }
}

static __device__ void store(scalar_t* o, const Rows& rows, const Head& h) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total = sum_of_row(rows.total[half]);
    const float inverse = total > 0 ? 1.0f / total : 0.0f;  // a query that sees nothing gives 0
    const int query = h.first_query + threadIdx.x / 32 * 16 + 8 * half + lane / 4;
    if (query >= h.LQ) continue;
    scalar_t* to = o + (long long)query * kD + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < kD / 8; ++j) {
      *(unsigned*)(to + 8 * j) =
          ak::pack<scalar_t>(rows.sums[j][2 * half] * inverse, rows.sums[j][2 * half + 1] * inverse);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    attention(const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask, scalar_t* o, int HQ, int HKV,
              int LQ, int LK, float scale) {
  extern __shared__ uint4 shared[];
  scalar_t* stages = (scalar_t*)shared;                // keys and values, one behind the other
  scalar_t* query_tile = stages + 2 * STAGES * kTile;  // then the queries
  const int in_batch = blockIdx.y % HQ, batch = blockIdx.y / HQ;
  const long long head = blockIdx.y, kv = (long long)batch * HKV + in_batch / (HQ / HKV);
  // With CAUSAL the last queries have the most to do: they come first.
  Head h = {q + head * LQ * kD,         k + kv * LK * kD, v + kv * LK * kD, mask, LQ, LK,
            (int)(gridDim.x - 1 - blockIdx.x) * kQueries};
#if HAS_MASK
  h.mask += ((long long)(MASK_BATCH ? batch : 0) * (MASK_HEADS ? HQ : 1) + (MASK_HEADS ? in_batch : 0)) * LQ * LK;
#endif
  const int last = (h.first_query + kQueries < LQ ? h.first_query + kQueries : LQ) - 1;
  const int limit = CAUSAL == 0 ? LK : last + 1 + (CAUSAL == 2 ? LK - LQ : 0);
  const int steps = ((limit < LK ? limit : LK) + KEYS - 1) / KEYS;  // none or fewer: nothing is seen

  ak::copy_tile<kQueries, kD, kThreads>(query_tile, h.q, h.first_query, LQ, 0, kD);
#pragma unroll
  for (int step = 0; step < STAGES - 1; ++step) {
    if (step < steps) fetch_stage(stages + 2 * step * kTile, h, step * KEYS);
    ak::copy_commit();
  }
  unsigned queries[kD / 16][4];
  Rows rows = {{-ak::infinity(), -ak::infinity()}, {0, 0}, {}};
  for (int step = 0; step < steps; ++step) {
    ak::copy_wait<STAGES - 2>();
    __syncthreads();  // the stage has arrived for all, and all are done with the one that is filled next
    if (step == 0) {
#pragma unroll
      for (int d = 0; d < kD / 16; ++d) {
        ak::load_left<kD, false>(queries[d], query_tile, threadIdx.x / 32 * 16, 16 * d);
      }
    }
    const int next = step + STAGES - 1;
    if (next < steps) fetch_stage(stages + 2 * (next % STAGES) * kTile, h, next * KEYS);
    ak::copy_commit();
    attend(rows, queries, stages + 2 * (step % STAGES) * kTile, h, step * KEYS, scale * kLog2E);
  }
  store(o + head * LQ * kD, rows, h);
}
