// Trusted: fills tensors with random numbers. Counter-based (a hash of seed and element index), so that one element is
// one thread and any element can be made again. One file per dtype of the tensor (scalar_t).
#include "autokernel/device/convert.cuh"

typedef unsigned long long ak_u64;

// splitmix64's finalizer (Steele, Lea, Flood 2014).
__device__ inline ak_u64 ak_mix(ak_u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

__device__ inline float ak_uniform(ak_u64 seed, ak_u64 index) {  // (0, 1)
  return ((float)(ak_mix(seed ^ ak_mix(index)) >> 40) + 0.5f) * (1.0f / 16777216.0f);
}

__device__ inline float ak_normal(ak_u64 seed, ak_u64 index) {  // Box-Muller
  float radius = sqrtf(-2.0f * logf(ak_uniform(seed, index)));
  return radius * cosf(6.2831853f * ak_uniform(seed + 0x632be59bd9b4e019ull, index));
}

// Kinds: see distribution_kind() in trusted_kernels.cc. `row_shift` rotates the rows (permutation probes).
extern "C" __global__ void ak_generate(scalar_t* out, long long elements, long long row_elements, long long row_shift,
                                       long long seed_bits, int kind, double p0, double p1) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  ak_u64 seed = (ak_u64)seed_bits;
  long long source = (i + row_shift * row_elements) % elements;
  float a = (float)p0, b = (float)p1, value = 0.0f;
  if (kind == 0) {  // normal: mean a, deviation b
    value = a + b * ak_normal(seed, source);
  } else if (kind == 1) {  // uniform in [a, b)
    value = a + (b - a) * ak_uniform(seed, source);
  } else if (kind == 2) {  // heavy tail: a log-normal factor of deviation a on a normal of deviation b
    value = b * ak_normal(seed, source) * expf(a * ak_normal(seed + 77, source));
  } else if (kind == 3) {  // rows scaled by powers of two between 2^a and 2^b
    ak_u64 row = (ak_u64)(source / row_elements);
    float exponent = a + floorf((b - a + 1.0f) * ak_uniform(seed + 99, row));
    value = ak_normal(seed, source) * exp2f(exponent);
  } else if (kind == 4) {  // sparse: density a, deviation b
    value = ak_uniform(seed + 55, source) < a ? b * ak_normal(seed, source) : 0.0f;
  } else if (kind == 5) {  // spikes: one-hot rows of height b at random positions
    ak_u64 row = (ak_u64)(source / row_elements);
    long long hot = (long long)(ak_mix(seed ^ ak_mix(row)) % (ak_u64)row_elements);
    value = source % row_elements == hot ? b : 0.0f;
  } else {  // constant a
    value = a;
  }
  out[i] = ak::from_float<scalar_t>(value);
}

extern "C" __global__ void ak_generate_int64(long long* out, long long elements, long long seed_bits, long long low,
                                             long long high, long long special, double special_share) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  ak_u64 seed = (ak_u64)seed_bits;
  bool is_special = ak_uniform(seed + 11, i) < (float)special_share;
  out[i] = is_special ? special : low + (long long)(ak_mix(seed ^ ak_mix(i)) % (ak_u64)(high - low));
}

extern "C" __global__ void ak_generate_int32(int* out, long long elements, long long seed_bits, long long low,
                                             long long high, long long special, double special_share) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  ak_u64 seed = (ak_u64)seed_bits;
  bool is_special = ak_uniform(seed + 11, i) < (float)special_share;
  out[i] = is_special ? (int)special : (int)(low + (long long)(ak_mix(seed ^ ak_mix(i)) % (ak_u64)(high - low)));
}

// ---- probes: changes of an input that was generated ----

extern "C" __global__ void ak_spike(scalar_t* x, long long elements, long long seed_bits, int count, double height) {
  int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= count) return;
  ak_u64 h = ak_mix((ak_u64)seed_bits ^ ak_mix((ak_u64)k));
  x[h % (ak_u64)elements] = ak::from_float<scalar_t>((h >> 63) ? (float)height : -(float)height);
}

extern "C" __global__ void ak_scale(scalar_t* x, long long elements, double factor) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) x[i] = ak::from_float<scalar_t>(ak::to_float(x[i]) * (float)factor);
}

extern "C" __global__ void ak_zero_rows(scalar_t* x, long long elements, long long row_elements, long long seed_bits,
                                        double share) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  if (ak_uniform((ak_u64)seed_bits, (ak_u64)(i / row_elements)) < (float)share) x[i] = ak::from_float<scalar_t>(0.0f);
}
