/* selftest
about = "causal but in the last 8 queries, which see every key"
dims = "B=1,HQ=2,HKV=2,LQ=64,LK=64,D=16,CAUSAL=1"
kind = "wrong"
cpu = ["shape.hidden", "shape.edge"]
cuda = ["shape.hidden", "shape.edge"]
*/
/* autokernel
op = "flash_attention"
dtypes = ["f32"]
[constraints]
needs = ["D <= 128"]
[[launch]]
entry = "attention"
grid = ["ceil_div(LQ, 8)", "B * HQ"]
block = [8]
args = ["q", "k", "v", "o", "HQ", "HKV", "LQ", "LK", "D", "scale"]
*/
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* o, int HQ, int HKV, int LQ,
                                     int LK, int D, float scale) {
  const int query = blockIdx.x * 8 + threadIdx.x;
  if (query >= LQ) return;
  const long long row = (long long)blockIdx.y * LQ + query;
  const long long head = (long long)(blockIdx.y / HQ) * HKV + blockIdx.y % HQ / (HQ / HKV);
  q += row * D;
  o += row * D;
  k += head * LK * D;
  v += head * LK * D;
  int keys = CAUSAL == 0 ? LK : query + 1 + (CAUSAL == 2 ? LK - LQ : 0);
  if (keys > LK || query / 8 == LQ / 8) keys = LK;
  const float factor = scale * 1.4426950408889634f;
  float highest = -INFINITY, weights = 0, sums[128] = {};
  for (int key = 0; key < keys; ++key) {
    float s = 0;
    for (int i = 0; i < D; ++i) s += q[i] * k[(long long)key * D + i];
    s *= factor;
    const float more = fmaxf(highest, s), shrink = exp2f(highest - more), weight = exp2f(s - more);
    highest = more;
    weights = weights * shrink + weight;
    for (int i = 0; i < D; ++i) sums[i] = sums[i] * shrink + weight * v[(long long)key * D + i];
  }
  for (int i = 0; i < D; ++i) o[i] = weights > 0 ? sums[i] / weights : 0.0f;
}
