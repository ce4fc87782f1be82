// Trusted: what the CUDA device itself launches: clocks around a timed batch, read flush, scrubbing, red zones.

typedef unsigned long long ak_u64;

__device__ inline ak_u64 ak_mix(ak_u64 x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

__device__ inline ak_u64 ak_global_ns() {
  ak_u64 ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ inline unsigned ak_multiprocessor() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

extern "C" __global__ void ak_nothing() {}

// One block a multiprocessor keeps the stream busy for `cycles`, so that what is timed has been enqueued when the first
// event is recorded; then notes cycle counter and nanoseconds.
extern "C" __global__ void ak_hold(ak_u64* stamps, long long cycles) {
  long long start = clock64();
  while (clock64() - start < cycles) {
  }
  ak_u64* mine = stamps + 2 * (ak_u64)ak_multiprocessor();
  mine[0] = (ak_u64)clock64();
  mine[1] = ak_global_ns();
}

extern "C" __global__ void ak_stamp(ak_u64* stamps) {
  ak_u64* mine = stamps + 2 * (ak_u64)ak_multiprocessor();
  mine[0] = (ak_u64)clock64();
  mine[1] = ak_global_ns();
}

extern "C" __global__ void ak_read_flush(const uint4* from, long long count, unsigned* sink) {
  unsigned sum = 0;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
    uint4 v = from[i];
    sum |= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x9e3779b9u) *sink = sum;  // keeps the loads
}

extern "C" __global__ void ak_scrub_shared(int words, unsigned seed) {
  extern __shared__ volatile unsigned ak_shared[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) ak_shared[i] = (unsigned)ak_mix(seed ^ (ak_u64)i);
}

extern "C" __global__ void ak_scrub_local(int words, unsigned seed, unsigned* sink) {
  volatile unsigned local[1024];
  for (int i = 0; i < words; ++i) local[(i * 7) & 1023] = (unsigned)ak_mix(seed ^ (ak_u64)i);
  if (local[seed & 1023] == 0x9e3779b9u) *sink = local[0];
}

struct ak_zone {
  unsigned char* at;
  ak_u64 bytes, seed;
};

__device__ inline unsigned char ak_zone_byte(ak_u64 seed, ak_u64 i) {
  return (unsigned char)(ak_mix(seed ^ (i >> 3)) >> (8 * (i & 7)));
}

extern "C" __global__ void ak_zone_fill(const ak_zone* zones) {
  ak_zone zone = zones[blockIdx.x];
  for (ak_u64 i = threadIdx.x; i < zone.bytes; i += blockDim.x) zone.at[i] = ak_zone_byte(zone.seed, i);
}

// found[2 z]: how many bytes of zone z changed, found[2 z + 1]: the first of them.
extern "C" __global__ void ak_zone_check(const ak_zone* zones, ak_u64* found) {
  ak_zone zone = zones[blockIdx.x];
  ak_u64 count = 0, first = ~0ull;
  for (ak_u64 i = threadIdx.x; i < zone.bytes; i += blockDim.x) {
    if (zone.at[i] == ak_zone_byte(zone.seed, i)) continue;
    ++count;
    if (i < first) first = i;
  }
  if (count == 0) return;
  atomicAdd(found + 2 * blockIdx.x, count);
  atomicMin(found + 2 * blockIdx.x + 1, first);
}
