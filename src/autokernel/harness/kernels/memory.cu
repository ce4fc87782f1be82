// Trusted: digests of buffers, copies and multiply-adds for the measured peaks.

typedef unsigned long long ak_u64;

__device__ inline ak_u64 ak_mix(ak_u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// One partial sum a thread over 256 words; the sum of mixed (word, index) pairs does not depend on the order.
extern "C" __global__ void ak_digest(const unsigned char* bytes, long long count, ak_u64* partials) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  long long words = (count + 7) / 8;
  if (t * 256 >= words) return;
  ak_u64 sum = 0;
  for (long long w = t * 256; w < t * 256 + 256 && w < words; ++w) {
    ak_u64 word = 0;
    if (w * 8 + 8 <= count) {
      memcpy(&word, bytes + w * 8, 8);
    } else {
      for (long long k = w * 8; k < count; ++k) word |= (ak_u64)bytes[k] << (8 * (k - w * 8));
    }
    sum += ak_mix(word ^ ak_mix((ak_u64)w));
  }
  partials[t] = sum;
}

extern "C" __global__ void ak_copy(const float4* from, float4* to, long long count) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

extern "C" __global__ void ak_read(const float4* from, long long count, float* out) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float4 v = from[i];
  if (v.x + v.y + v.z + v.w == 1.2345678e33f) *out = v.x;  // never true for our data; keeps the load
}

// 96 independent chains of fused multiply-adds a thread: 192 x steps flops.
extern "C" __global__ void ak_multiply_add(float* out, int steps, float factor) {
  float a[96];
  for (int k = 0; k < 96; ++k) a[k] = (float)(threadIdx.x + k);
  for (int s = 0; s < steps; ++s) {
    for (int k = 0; k < 96; ++k) a[k] = fmaf(a[k], factor, 1.0f);
  }
  float sum = 0;
  for (int k = 0; k < 96; ++k) sum += a[k];
  out[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
