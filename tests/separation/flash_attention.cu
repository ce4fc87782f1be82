/* autokernel
op = "flash_attention"
about = "one query a thread, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15]
[constraints]
needs = ["D <= 128", "D % 16 == 0", "HAS_MASK == 0"]
[defaults]
VARIANT = 0
[[launch]]
entry = "attention"
grid = ["ceil_div(B * HQ * LQ, 32)"]
block = ["32"]
args = ["q", "k", "v", "o", "B", "HQ", "HKV", "LQ", "LK", "D", "scale"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float operand(float x) {
  if (VARIANT == 10) return as_tf32(x);
  if (VARIANT == 11) return as_bf16(x);
  if (VARIANT == 13) return as_e4m3(x);
  return x;
}

// A weight as it multiplies v: 4 rounds it to the input's type, as matrix instructions want it.
__device__ inline float rounded_weight(float p) {
  if (VARIANT == 4) return ak::to_float(ak::from_float<scalar_t>(p));
  if (VARIANT == 15) return as_two_bits_less(p);
  return VARIANT == 14 ? as_e4m3(p) : operand(p);
}

__device__ inline float accumulated(float sum) { return VARIANT == 12 ? as_f16(sum) : sum; }

__device__ inline float score(const scalar_t* q, const scalar_t* k, int D, float scale) {
  float sum = 0;
  if (VARIANT == 4) {  // like a tensor core: 16 products join the sum at once
    for (int base = 0; base < D; base += 16) {
      double exact = sum;
      for (int i = base; i < base + 16; ++i) exact += (double)ak::to_float(q[i]) * (double)ak::to_float(k[i]);
      sum = (float)exact;
    }
  } else {
    for (int i = 0; i < D; ++i) {
      const int at = VARIANT == 1 ? D - 1 - i : i;  // reversed
      sum = accumulated(sum + operand(ak::to_float(q[at])) * operand(ak::to_float(k[at])));
    }
  }
  return sum * scale;
}

// The keys first, first + step, .. in one pass: maximum, sum of weights and weighted sum of v.
struct Part {
  float highest, weights, sums[128];
};

__device__ inline void attend(Part& part, const scalar_t* q, const scalar_t* k, const scalar_t* v, int first, int keys,
                              int step, int D, float scale) {
  part.highest = -ak::infinity();
  part.weights = 0;
  for (int i = 0; i < D; ++i) part.sums[i] = 0;
  const bool online = VARIANT == 2 || VARIANT == 3;  // else the maximum is known before
  if (!online) {
    for (int j = first; j < keys; j += step) part.highest = fmaxf(part.highest, score(q, k + (long long)j * D, D, scale));
  }
  for (int n = first; n < keys; n += step) {
    const int j = VARIANT == 1 ? keys - 1 - n : n;
    const float s = score(q, k + (long long)j * D, D, scale);
    if (s > part.highest) {
      const float shrink = expf(part.highest - s);
      part.highest = s;
      part.weights *= shrink;
      for (int i = 0; i < D; ++i) part.sums[i] *= shrink;
    }
    const float weight = expf(s - part.highest);
    part.weights = accumulated(part.weights + weight);
    for (int i = 0; i < D; ++i) {
      part.sums[i] =
          accumulated(part.sums[i] + rounded_weight(weight) * operand(ak::to_float(v[(long long)j * D + i])));
    }
  }
}

extern "C" __global__ void attention(const scalar_t* q, const scalar_t* k, const scalar_t* v, scalar_t* o, int B, int HQ,
                                     int HKV, int LQ, int LK, int D, float scale) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= B * HQ * LQ) return;
  const int query = row % LQ, head = row / LQ % HQ, batch = row / LQ / HQ;
  const long long kv = (long long)(batch * HKV + head / (HQ / HKV)) * LK * D;
  int keys = CAUSAL == 0 ? LK : query + 1 + (CAUSAL == 2 ? LK - LQ : 0);
  if (keys > LK) keys = LK;
  q += (long long)row * D;
  Part whole;
  const int parts = VARIANT == 3 ? 4 : 1;  // split keys: each part apart, then combined
  attend(whole, q, k + kv, v + kv, 0, keys, parts, D, scale);
  for (int first = 1; first < parts; ++first) {
    Part part;
    attend(part, q, k + kv, v + kv, first, keys, parts, D, scale);
    const float highest = fmaxf(whole.highest, part.highest);
    const float keep = expf(whole.highest - highest), join = expf(part.highest - highest);
    whole.highest = highest;
    whole.weights = whole.weights * keep + part.weights * join;
    for (int i = 0; i < D; ++i) whole.sums[i] = whole.sums[i] * keep + part.sums[i] * join;
  }
  for (int i = 0; i < D; ++i) o[(long long)row * D + i] = ak::from_float<scalar_t>(whole.sums[i] / whole.weights);
}
