/* autokernel
op = "flash_attention"
about = "trusted reference: fp64 result with its error bounds, and the fp32 contract; a few columns of one query a thread"
dtypes = ["f32", "f16", "bf16"]
[tunables]
THREADS = [1, 32, 64, 128, 256]
COLUMNS = [8, 16, 32]
[defaults]
THREADS = 64
COLUMNS = 32
[[launch]]
entry = "reference"
grid = ["ceil_div(B * HQ * LQ * ceil_div(D, COLUMNS), THREADS)"]
block = ["THREADS"]
args = ["q", "k", "v", "mask", "o_r", "o_S", "o_I0", "B", "HQ", "HKV", "LQ", "LK", "D", "scale"]
[[launch]]
entry = "contract"
grid = ["ceil_div(B * HQ * LQ * ceil_div(D, COLUMNS), THREADS)"]
block = ["THREADS"]
args = ["q", "k", "v", "mask", "o", "B", "HQ", "HKV", "LQ", "LK", "D", "scale"]
*/
#include "autokernel/device/convert.cuh"

// What a thread makes: columns first .. first + columns of one query's output.
struct Part {
  const scalar_t* q;     // the query
  const scalar_t* k;     // the keys of its head
  const scalar_t* v;     // their values
  const scalar_t* mask;  // the query's row of the mask
  long long keys;        // so many, from the first on, are not hidden by CAUSAL
  long long at;          // of the first column in the output
  int first, columns;
};

static __device__ Part part_of(const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask,
                               long long thread, int HQ, int HKV, int LQ, int LK, int D) {
  const int parts = (D + COLUMNS - 1) / COLUMNS;
  const long long row = thread / parts, query = row % LQ, head = row / LQ % HQ, batch = row / LQ / HQ;
  const long long kv_head = batch * HKV + head / (HQ / HKV);
  Part part;
  part.first = (int)(thread % parts) * COLUMNS;
  part.columns = D - part.first < COLUMNS ? D - part.first : COLUMNS;
  part.q = q + row * D;
  part.k = k + kv_head * LK * D;
  part.v = v + kv_head * LK * D + part.first;
  part.mask = mask;
#if HAS_MASK
  part.mask += (((MASK_BATCH ? batch : 0) * (MASK_HEADS ? HQ : 1) + (MASK_HEADS ? head : 0)) * LQ + query) * LK;
#endif
  part.keys = CAUSAL == 0 ? LK : query + 1 + (CAUSAL == 2 ? LK - LQ : 0);
  if (part.keys > LK) part.keys = LK;
  part.at = row * D + part.first;
  return part;
}

// The logit of one key, after scale and mask, in the precision of Real; and the sum of the absolute terms of its product,
// scaled.
template <class Real>
struct Logit {
  Real value, magnitude;
};

template <class Real>
static __device__ Logit<Real> logit(const Part& part, long long key, int D, Real scale) {
  const scalar_t* other = part.k + key * D;
  Logit<Real> s = {0, 0};
  for (int i = 0; i < D; ++i) {
    const Real term = scale * ((Real)ak::to_float(part.q[i]) * (Real)ak::to_float(other[i]));
    s.value += term;
    s.magnitude += term < 0 ? -term : term;
  }
#if HAS_MASK
  s.value += (Real)ak::to_float(part.mask[key]);
#endif
  return s;
}

extern "C" __global__ void reference(const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask,
                                     double* o_r, double* o_S, double* o_I0, int B, int HQ, int HKV, int LQ, int LK,
                                     int D, float scale) {
  const long long thread = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (thread >= (long long)B * HQ * LQ * ((D + COLUMNS - 1) / COLUMNS)) return;
  const Part part = part_of(q, k, v, mask, thread, HQ, HKV, LQ, LK, D);
  double m = -ak::infinity();
  for (long long key = 0; key < part.keys; ++key) m = fmax(m, logit<double>(part, key, D, scale).value);
  // S: sqrt(seen) sum p |v| (1 + |s|) for the sums over keys, and sqrt(D) sum p |v| |scale| sum |q k| for scores that
  // cancelled; I: weights p that were rounded.
  double weights = 0, seen = 0, sums[COLUMNS] = {}, over_keys[COLUMNS] = {}, in_scores[COLUMNS] = {}, squares[COLUMNS] = {};
  for (long long key = 0; key < part.keys; ++key) {
    const Logit<double> s = logit<double>(part, key, D, scale);
    if (s.value == -ak::infinity()) continue;  // hidden by the mask
    const double weight = exp(s.value - m), rounded = fmax(weight, (double)ak::smallest_normal<scalar_t>());
    weights += weight;
    seen += 1;
    for (int i = 0; i < part.columns; ++i) {
      const double value = ak::to_float(part.v[key * D + i]), magnitude = weight * fabs(value);
      sums[i] += weight * value;
      over_keys[i] += magnitude * (1 + fabs(s.value));
      in_scores[i] += magnitude * s.magnitude;
      squares[i] += rounded * value * (rounded * value);
    }
  }
  for (int i = 0; i < part.columns; ++i) {
    o_r[part.at + i] = seen > 0 ? sums[i] / weights : 0;
    o_S[part.at + i] = seen > 0 ? (sqrt(seen) * over_keys[i] + sqrt((double)D) * in_scores[i]) / weights : 0;
    o_I0[part.at + i] = seen > 0 ? sqrt(squares[i]) / weights : 0;
  }
}

extern "C" __global__ void contract(const scalar_t* q, const scalar_t* k, const scalar_t* v, const scalar_t* mask,
                                    scalar_t* o, int B, int HQ, int HKV, int LQ, int LK, int D, float scale) {
  const long long thread = (long long)blockIdx.x * THREADS + threadIdx.x;
  if (thread >= (long long)B * HQ * LQ * ((D + COLUMNS - 1) / COLUMNS)) return;
  const Part part = part_of(q, k, v, mask, thread, HQ, HKV, LQ, LK, D);
  float m = -ak::infinity();
  for (long long key = 0; key < part.keys; ++key) m = fmaxf(m, logit<float>(part, key, D, scale).value);
  float weights = 0, sums[COLUMNS] = {};
  for (long long key = 0; key < part.keys; ++key) {
    const float s = logit<float>(part, key, D, scale).value;
    if (s == -ak::infinity()) continue;
    const float weight = expf(s - m);
    weights += weight;
    for (int i = 0; i < part.columns; ++i) sums[i] += weight * ak::to_float(part.v[key * D + i]);
  }
  for (int i = 0; i < part.columns; ++i) {
    o[part.at + i] = ak::from_float<scalar_t>(weights > 0 ? sums[i] / weights : 0.0f);
  }
}
