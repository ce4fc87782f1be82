/* autokernel
op = "flash_attention"
about = "one pass over the keys with a running maximum (online softmax); COLUMNS columns of one query a thread"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [32, 64, 128, 256]
COLUMNS = [8, 16, 32, 64, 128]          # each group of columns computes the scores anew
[constraints]
needs = ["ceil_div(D, COLUMNS) <= 65535", "B * HQ <= 65535"]      # limits of a grid
[defaults]
THREADS = 64
COLUMNS = 64
[[launch]]
entry = "attention"
grid = ["ceil_div(LQ, THREADS)", "ceil_div(D, COLUMNS)", "B * HQ"]
block = ["THREADS"]
args = ["q", "k", "v", "mask", "o", "HQ", "HKV", "LQ", "LK", "D", "scale"]
*/
#include "autokernel/device/convert.cuh"

extern "C" __global__ void attention(const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask,
                                     scalar_t* o, int HQ, int HKV, int LQ, int LK, int D, float scale) {
  const int query = blockIdx.x * THREADS + threadIdx.x;
  if (query >= LQ) return;
  const int head = blockIdx.z % HQ, batch = blockIdx.z / HQ;
  const int first = blockIdx.y * COLUMNS;
  const int columns = D - first < COLUMNS ? D - first : COLUMNS;
  const long long row = (long long)blockIdx.z * LQ + query;
  const long long kv_head = (long long)batch * HKV + head / (HQ / HKV);
  q += row * D;
  k += kv_head * LK * D;
  v += kv_head * LK * D + first;
  o += row * D + first;
#if HAS_MASK
  mask += (((long long)(MASK_BATCH ? batch : 0) * (MASK_HEADS ? HQ : 1) + (MASK_HEADS ? head : 0)) * LQ + query) * LK;
#endif
  int keys = CAUSAL == 0 ? LK : query + 1 + (CAUSAL == 2 ? LK - LQ : 0);
  if (keys > LK) keys = LK;

  float highest = -ak::infinity(), weights = 0, sums[COLUMNS] = {};
  for (int key = 0; key < keys; ++key) {
    const scalar_t* other = k + (long long)key * D;
    float s = 0;
    for (int i = 0; i < D; ++i) s += ak::to_float(q[i]) * ak::to_float(other[i]);
    s *= scale;
#if HAS_MASK
    s += ak::to_float(mask[key]);
#endif
    if (s == -ak::infinity()) continue;
    if (s > highest) {  // what was summed so far counts for less
      const float shrink = expf(highest - s);
      highest = s;
      weights *= shrink;
      for (int i = 0; i < columns; ++i) sums[i] *= shrink;
    }
    const float weight = expf(s - highest);
    const scalar_t* value = v + (long long)key * D;
    weights += weight;
    for (int i = 0; i < columns; ++i) sums[i] += weight * ak::to_float(value[i]);
  }
  const float inverse = weights > 0 ? 1.0f / weights : 0.0f;  // a query that sees nothing gives 0
  for (int i = 0; i < columns; ++i) o[i] = ak::from_float<scalar_t>(sums[i] * inverse);
}
