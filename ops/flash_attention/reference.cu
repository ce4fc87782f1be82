/* autokernel
op = "flash_attention"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; tiles of queries and keys by BLOCK threads"
dtypes = ["f32", "f16", "bf16"]
[tunables]
BLOCK = [1, 256]   # what suits the device
[defaults]
BLOCK = 1
[[workspace]]
name = "highest"                        # of each query's logits, by the fp32 pass
bytes = "4 * B * HQ * LQ"
[[workspace]]
name = "seen"                           # how many keys a query sees
bytes = "4 * B * HQ * LQ"
[[launch]]
entry = "reference_highest"
grid = ["B * HQ * ceil_div(LQ, BLOCK > 1 ? 64 : 4)"]
block = ["BLOCK"]
args = ["q", "k", "mask", "highest", "seen", "HQ", "HKV", "LQ", "LK", "D",
        "CAUSAL", "HAS_MASK", "MASK_BATCH", "MASK_HEADS", "scale"]
[[launch]]
entry = "reference"
grid = ["B * HQ * ceil_div(LQ, BLOCK > 1 ? 64 : 4) * ceil_div(D, 64)"]
block = ["BLOCK"]
shared_bytes = "BLOCK > 1 ? 86016 : 4096"
args = ["q", "k", "v", "mask", "highest", "seen", "o_r", "o_S", "o_I0", "HQ", "HKV", "LQ", "LK", "D",
        "CAUSAL", "HAS_MASK", "MASK_BATCH", "MASK_HEADS", "scale"]
[[launch]]
entry = "contract"
grid = ["B * HQ * ceil_div(LQ, BLOCK > 1 ? 64 : 4) * ceil_div(D, 64)"]
block = ["BLOCK"]
shared_bytes = "BLOCK > 1 ? 86016 : 4096"
args = ["q", "k", "v", "mask", "highest", "o", "HQ", "HKV", "LQ", "LK", "D",
        "CAUSAL", "HAS_MASK", "MASK_BATCH", "MASK_HEADS", "scale"]
*/
#include "autokernel/device/convert.cuh"
#include "autokernel/device/tile_sums.cuh"

// A block makes kTile queries of one head and 64 columns of their outputs: kGroups tiles beside each other.
constexpr int kGroups = 64 / ak::kTile;

struct Sizes {
  int HQ, HKV, LQ, LK, D;
  int causal, has_mask, mask_batch, mask_heads;  // flags
};

// One head: its keys, its values and a tile of its queries.
struct Head {
  int LQ, LK, D, causal;
  const scalar_t* q;  // of all queries of the head
  const scalar_t* k;
  const scalar_t* v;
  const scalar_t* mask;  // of all queries of the head; null: there is none
  long long row;         // of the head's first query in the output
  int query;             // the tile's first

  // What a query sees of the keys, from the first on, as far as the flag CAUSAL says.
  __device__ int keys(int i) const {
    if (query + i >= LQ) return 0;
    const int limit = causal == 0 ? LK : query + i + 1 + (causal == 2 ? LK - LQ : 0);
    return limit < LK ? limit : LK;
  }
  // Of the tile's last query: no tile of keys from here on is seen.
  __device__ int keys_of_tile() const { return keys(LQ - query < ak::kTile ? LQ - query - 1 : ak::kTile - 1); }
  __device__ float query_at(int i, int d) const {
    return query + i < LQ ? ak::to_float(q[(long long)(query + i) * D + d]) : 0.0f;
  }
  __device__ float key_at(int key, int d) const { return key < LK ? ak::to_float(k[(long long)key * D + d]) : 0.0f; }
  __device__ float value_at(int key, int d) const {
    return key < LK && d < D ? ak::to_float(v[(long long)key * D + d]) : 0.0f;
  }
  // The logit of a key that is seen, scale q k and the mask added; else -infinity.
  template <class Real>
  __device__ Real logit(int i, int key, Real scale, Real product) const {
    if (key >= keys(i)) return -ak::infinity();
    if (mask == nullptr) return scale * product;
    return fma(scale, product, (Real)ak::to_float(mask[(long long)(query + i) * LK + key]));
  }
};

static __device__ Head head_of(int index, const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask,
                               const Sizes& z) {
  const int tiles = (z.LQ + ak::kTile - 1) / ak::kTile, head = index / tiles;
  const int in_batch = head % z.HQ, batch = head / z.HQ;
  const long long kv = (long long)batch * z.HKV + in_batch / (z.HQ / z.HKV);
  const long long of_mask = (long long)(z.mask_batch ? batch : 0) * (z.mask_heads ? z.HQ : 1) + (z.mask_heads ? in_batch : 0);
  return {z.LQ,
          z.LK,
          z.D,
          z.causal,
          q + (long long)head * z.LQ * z.D,
          k + kv * z.LK * z.D,
          v + kv * z.LK * z.D,
          z.has_mask ? mask + of_mask * z.LQ * z.LK : nullptr,
          (long long)head * z.LQ,
          index % tiles * ak::kTile};
}

static __device__ void scores(ak::Sums<0>& sums, ak::Stage<0>& stage, const Head& h, int first) {
  ak::accumulate(
      sums, stage, h.D, true, [&](int i, int d) { return ak::single(h.query_at(i, d)); }, true,
      [&](int j, int d) { return ak::single(h.key_at(first + j, d)); });
}
static __device__ void scores(ak::Sums<1>& sums, ak::Stage<1>& stage, const Head& h, int first) {
  ak::accumulate(
      sums, stage, h.D, true, [&](int i, int d) { return ak::exact(h.query_at(i, d)); }, true,
      [&](int j, int d) { return ak::exact(h.key_at(first + j, d)); });
}

// What each of the threads of a row has found of it.
template <class T>
using Parts = T[ak::kTile][ak::kRowThreads + 1];

// One value a thread and row of its sums, combined over the threads that share the row; row i's result for each of them.
template <class T, class Combine>
static __device__ void across_row(T (&values)[ak::kRowsEach], Parts<T>& parts, const Combine& combine) {
  for (int i = 0; i < ak::kRowsEach; ++i) parts[ak::tile_row(i)][ak::tile_across()] = values[i];
  ak::tile_barrier();
  for (int i = 0; i < ak::kRowsEach; ++i) {
    T all = parts[ak::tile_row(i)][0];
#pragma unroll 1
    for (int k = 1; k < ak::kRowThreads; ++k) all = combine(all, parts[ak::tile_row(i)][k]);
    values[i] = all;
  }
  ak::tile_barrier();
}

// The fp64 result does not depend on what is subtracted from the logits, so that fp32 will do for it.
extern "C" __global__ void reference_highest(const scalar_t* q, const scalar_t* k, const scalar_t* mask, float* highest,
                                             int* seen, int HQ, int HKV, int LQ, int LK, int D, int causal,
                                             int has_mask, int mask_batch, int mask_heads, float scale) {
  __shared__ ak::Stage<0> stage;
  __shared__ Parts<float> parts;
  __shared__ Parts<int> counts;
  const Head h =
      head_of(blockIdx.x, q, k, nullptr, mask, {HQ, HKV, LQ, LK, D, causal, has_mask, mask_batch, mask_heads});
  float best[ak::kRowsEach];
  for (float& each : best) each = -ak::infinity();
  int count[ak::kRowsEach] = {};
  const int keys = h.keys_of_tile();
  for (int first = 0; first < keys; first += ak::kTile) {
    ak::Sums<0> sums = {};
    scores(sums, stage, h, first);
    ak::each_sum(sums, [&](int i, int row, int column, const ak::Term<0>& sum) {
      const float s = h.logit<float>(row, first + column, scale, sum.single);
      if (s == -ak::infinity()) return;  // hidden, or by the mask
      ak::at_row(best, i, [&](float& each) { each = fmaxf(each, s); });
      ak::at_row(count, i, [](int& each) { each += 1; });
    });
  }
  across_row(best, parts, [](float a, float b) { return fmaxf(a, b); });
  across_row(count, counts, [](int a, int b) { return a + b; });
  if (ak::tile_across() != 0) return;
  for (int i = 0; i < ak::kRowsEach; ++i) {
    const int query = h.query + ak::tile_row(i);
    if (query >= LQ) continue;
    highest[h.row + query] = best[i];
    seen[h.row + query] = count[i];
  }
}

// Weights of a tile; the stages of the two products are not in use at the same time.
struct ReferenceTile {
  union {
    ak::Stage<1> scores;
    ak::Stage<2> outputs;
    Parts<double> parts;
  };
  double weight[ak::kTile][ak::kTile + 1];  // -1: the key is hidden
  float size[ak::kTile][ak::kTile + 1];
};
static_assert(sizeof(ReferenceTile) <= (BLOCK > 1 ? 86016 : 4096), "shared_bytes of the launch");

extern "C" __global__ void reference(const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask,
                                     const float* highest, const int* seen, double* o_r, double* o_S, double* o_I0,
                                     int HQ, int HKV, int LQ, int LK, int D, int causal, int has_mask, int mask_batch,
                                     int mask_heads, float scale) {
  extern __shared__ double shared_memory[];
  ReferenceTile& tile = *(ReferenceTile*)shared_memory;
  const int chunks = (D + 63) / 64, first_column = (int)(blockIdx.x % chunks) * 64;
  const Head h =
      head_of(blockIdx.x / chunks, q, k, v, mask, {HQ, HKV, LQ, LK, D, causal, has_mask, mask_batch, mask_heads});
  float m[ak::kRowsEach], of_keys[ak::kRowsEach];  // of_keys: sqrt of how many a query sees
  for (int i = 0; i < ak::kRowsEach; ++i) {
    const int query = h.query + ak::tile_row(i);
    m[i] = query < LQ ? highest[h.row + query] : 0.0f;
    of_keys[i] = query < LQ ? sqrtf((float)seen[h.row + query]) : 0.0f;
  }
  const float of_scores = sqrtf((float)D) * fabsf(scale);
  double weights[ak::kRowsEach] = {}, spreads[ak::kRowsEach] = {};  // spreads: what fp32 may change in the weights
  ak::Sums<2> outputs[kGroups] = {};
  const int keys = h.keys_of_tile();
  for (int first = 0; first < keys; first += ak::kTile) {
    ak::Sums<1> sums = {};
    scores(sums, tile.scores, h, first);
    // r: sum p v / sum p with p = exp(s - m); I: the squares of p v, p rounded; S: what fp32 may change in each p, which is
    // p (sqrt(seen) (1 + |s|) and, for scores that cancelled, sqrt(D) |scale| sum |q k|), times |v| in the one sum and |r| in
    // the other.
    ak::each_sum(sums, [&](int i, int row, int column, const ak::Term<1>& sum) {
      const double s = h.logit<double>(row, first + column, scale, sum.exact[0]);
      const bool hidden = s == -ak::infinity();
      const double weight = hidden ? 0 : exp(s - ak::of_row(m, i));
      const float spread =
          hidden ? 0 : (float)weight * (ak::of_row(of_keys, i) * (1 + (float)fabs(s)) + of_scores * sum.single);
      ak::at_row(weights, i, [&](double& each) { each += weight; });
      ak::at_row(spreads, i, [&](double& each) { each += spread; });
      tile.weight[row][column] = hidden ? -1 : weight;
      tile.size[row][column] = spread;
    });
    ak::tile_barrier();
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int columns = first_column + group * ak::kTile;
      if (BLOCK == 1 && columns >= D) break;
      ak::accumulate(
          outputs[group], tile.outputs, keys - first < ak::kTile ? keys - first : ak::kTile, false,
          [&](int i, int key) {
            const double weight = tile.weight[i][key];
            if (weight < 0) return ak::Term<2>{};
            const double rounded = fmax(weight, (double)ak::smallest_normal<scalar_t>());
            return ak::Term<2>{{weight, rounded * rounded}, tile.size[i][key]};
          },
          false,
          [&](int j, int key) {
            const double value = h.value_at(first + key, columns + j);
            return ak::Term<2>{{value, value * value}, (float)fabs(value)};
          });
    }
  }
  across_row(weights, tile.parts, [](double a, double b) { return a + b; });
  across_row(spreads, tile.parts, [](double a, double b) { return a + b; });
  for (double& each : weights) each = each > 0 ? 1 / each : 0;  // a query that sees nothing gives 0
  for (int group = 0; group < kGroups; ++group) {
    ak::each_sum(outputs[group], [&](int i, int row, int column, const ak::Term<2>& sum) {
      const int d = first_column + group * ak::kTile + column;
      if (h.query + row >= LQ || d >= D) return;
      const long long at = (h.row + h.query + row) * D + d;
      const double weight = ak::of_row(weights, i);
      const double r = sum.exact[0] * weight;
      o_r[at] = r;
      o_S[at] = (sum.single + fabs(r) * ak::of_row(spreads, i)) * weight;
      o_I0[at] = ak::of_many_roundings(sum.exact[1]) * weight;
    });
  }
}

struct ContractTile {
  union {
    ak::Stage<0> stage;
    Parts<float> parts;
  };
  float weight[ak::kTile][ak::kTile + 1];
};
static_assert(sizeof(ContractTile) <= (BLOCK > 1 ? 86016 : 4096), "shared_bytes of the launch");

extern "C" __global__ void contract(const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask,
                                    const float* highest, scalar_t* o, int HQ, int HKV, int LQ, int LK, int D,
                                    int causal, int has_mask, int mask_batch, int mask_heads, float scale) {
  extern __shared__ double shared_memory[];
  ContractTile& tile = *(ContractTile*)shared_memory;
  const int chunks = (D + 63) / 64, first_column = (int)(blockIdx.x % chunks) * 64;
  const Head h =
      head_of(blockIdx.x / chunks, q, k, v, mask, {HQ, HKV, LQ, LK, D, causal, has_mask, mask_batch, mask_heads});
  float weights[ak::kRowsEach] = {};
  ak::Sums<0> outputs[kGroups] = {};
  const int keys = h.keys_of_tile();
  for (int first = 0; first < keys; first += ak::kTile) {
    ak::Sums<0> sums = {};
    scores(sums, tile.stage, h, first);
    ak::each_sum(sums, [&](int i, int row, int column, const ak::Term<0>& sum) {
      const float s = h.logit<float>(row, first + column, scale, sum.single);
      const float weight = s == -ak::infinity() ? 0.0f : expf(s - highest[h.row + h.query + row]);
      ak::at_row(weights, i, [&](float& each) { each += weight; });
      tile.weight[row][column] = weight;
    });
    ak::tile_barrier();
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int columns = first_column + group * ak::kTile;
      if (BLOCK == 1 && columns >= D) break;
      ak::accumulate(
          outputs[group], tile.stage, keys - first < ak::kTile ? keys - first : ak::kTile, false,
          [&](int i, int key) { return ak::single(tile.weight[i][key]); }, false,
          [&](int j, int key) { return ak::single(h.value_at(first + key, columns + j)); });
    }
  }
  across_row(weights, tile.parts, [](float a, float b) { return a + b; });
  for (int group = 0; group < kGroups; ++group) {
    ak::each_sum(outputs[group], [&](int i, int row, int column, const ak::Term<0>& sum) {
      const int d = first_column + group * ak::kTile + column;
      if (h.query + row >= LQ || d >= D) return;
      const float weight = ak::of_row(weights, i);
      o[(h.row + h.query + row) * D + d] = ak::from_float<scalar_t>(weight > 0 ? sum.single / weight : 0.0f);
    });
  }
}
