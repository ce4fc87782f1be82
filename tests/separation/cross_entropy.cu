/* autokernel
op = "cross_entropy"
about = "one row a thread, in an order (honest) or a precision (dishonest) given by VARIANT"
dtypes = ["f32", "f16", "bf16"]
[tunables]
VARIANT = [0, 1, 2, 3, 4, 10, 11, 12, 14, 16]
[constraints]
needs = ["REDUCTION == 0"]
[defaults]
VARIANT = 0
[[launch]]
entry = "cross_entropy"
grid = ["ceil_div(ROWS, 32)"]
block = ["32"]
args = ["logits", "targets", "loss", "ROWS", "V", "IGNORE"]
*/
#include "autokernel/device/convert.cuh"
PRECISION

__device__ inline float logit(const scalar_t* in, long long i) {
  float x = ak::to_float(in[i]);
  if (VARIANT == 10) return as_tf32(x);
  if (VARIANT == 11) return as_bf16(x);
  return x;
}

__device__ inline float exponential(float x) {
  return VARIANT == 16 ? as_f16(expf(as_f16(x))) : expf(x);  // 16: f16 exponentials
}

struct Running {
  float top, sum;
};

__device__ inline Running online(const scalar_t* in, int first, int step, int V) {
  Running seen = {-ak::infinity(), 0};
  for (int i = first; i < V; i += step) {
    float v = logit(in, i), next = fmaxf(seen.top, v);
    seen.sum = seen.sum * expf(seen.top - next) + expf(v - next);
    seen.top = next;
  }
  return seen;
}

__device__ inline Running two_passes(const scalar_t* in, int V) {
  Running seen = {-ak::infinity(), 0};
  for (int i = 0; i < V; ++i) seen.top = fmaxf(seen.top, logit(in, i));
  if (VARIANT == 2) {  // tree of 32 lanes
    float lanes[32] = {};
    for (int i = 0; i < V; ++i) lanes[i % 32] += exponential(logit(in, i) - seen.top);
    for (int half = 16; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
    }
    seen.sum = lanes[0];
    return seen;
  }
  for (int j = 0; j < V; ++j) {
    seen.sum += exponential(logit(in, VARIANT == 1 ? V - 1 - j : j) - seen.top);  // 1: reversed
    if (VARIANT == 12) seen.sum = as_f16(seen.sum);
    if (VARIANT == 14) seen.sum = as_bf16(seen.sum);
  }
  return seen;
}

extern "C" __global__ void cross_entropy(const scalar_t* logits, const long long* targets, float* loss, int ROWS, int V,
                                         int IGNORE) {
  long long row = blockIdx.x * 32 + threadIdx.x;
  if (row >= ROWS) return;
  const scalar_t* in = logits + row * V;
  if (targets[row] == IGNORE) {
    loss[row] = 0;
    return;
  }
  Running seen;
  if (VARIANT == 3) {
    seen = online(in, 0, 1, V);
  } else if (VARIANT == 4) {  // 4 lanes online, merged
    seen = {-ak::infinity(), 0};
    for (int lane = 0; lane < 4 && lane < V; ++lane) {
      Running other = online(in, lane, 4, V);
      float top = fmaxf(seen.top, other.top);
      seen = {top, seen.sum * expf(seen.top - top) + other.sum * expf(other.top - top)};
    }
  } else {
    seen = two_passes(in, V);
  }
  loss[row] = seen.top + logf(seen.sum) - logit(in, targets[row]);
}
