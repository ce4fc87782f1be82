// Trusted: what a GPU can do at best. Streams with several 16-byte accesses in flight, and loops of nothing but matrix
// instructions (mma.sync on every GPU since sm_80, wgmma on sm_90a). Compiled for GPUs alone.

typedef unsigned int ak_u32;
typedef unsigned long long ak_u64;

extern "C" __global__ void ak_peak_nothing() {}

// A block of 256 threads moves 1024 vectors of 16 bytes.
extern "C" __global__ void ak_peak_copy(const uint4* from, uint4* to, long long count) {
  long long i = (long long)blockIdx.x * 1024 + threadIdx.x;
  if (i + 768 < count) {
    uint4 a = __ldcs(from + i), b = __ldcs(from + i + 256), c = __ldcs(from + i + 512), d = __ldcs(from + i + 768);
    __stcs(to + i, a);
    __stcs(to + i + 256, b);
    __stcs(to + i + 512, c);
    __stcs(to + i + 768, d);
  }
}

extern "C" __global__ void ak_peak_read(const uint4* from, long long count, ak_u32* sink) {
  long long i = (long long)blockIdx.x * 2048 + threadIdx.x;
  if (i + 1792 >= count) return;
  ak_u32 sum = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    uint4 v = from[i + 256 * k];
    sum |= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (sum == 0x12345679u) *sink = sum;
}

// 32 independent chains of fused multiply-adds a thread: 64 x steps flops.
extern "C" __global__ void ak_peak_fma(float* out, int steps, float factor) {
  float a[32];
#pragma unroll
  for (int k = 0; k < 32; ++k) a[k] = (float)(threadIdx.x + k) * 1e-3f;
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int k = 0; k < 32; ++k) a[k] = fmaf(a[k], factor, 0.5f);
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) sum += a[k];
  if (sum == 1.2345e30f) out[threadIdx.x] = sum;
}

__device__ inline ak_u32 ak_noise(ak_u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// Random bits whose exponents keep the numbers between 1/8 and 2 in either half (f16, bf16), as tf32 and as e4m3.
__device__ inline ak_u32 ak_operand(int kind, ak_u32 seed) {
  ak_u32 h = ak_noise(seed);
  if (kind == 0) return (h & 0x83ff83ffu) | 0x34003400u;   // f16
  if (kind == 1) return (h & 0x807f807fu) | 0x3e803e80u;   // bf16
  if (kind == 2) return (h & 0x807fe000u) | 0x3e800000u;   // tf32
  return (h & 0x87878787u) | 0x30303030u;                  // e4m3
}

#define AK_MMA(name, kind, text)                                                                              \
  extern "C" __global__ void name(float* out, int steps) {                                                    \
    ak_u32 a[4], b[2];                                                                                        \
    float c[8][4];                                                                                            \
    for (int k = 0; k < 4; ++k) a[k] = ak_operand(kind, threadIdx.x * 8 + k + blockIdx.x * 4096);             \
    for (int k = 0; k < 2; ++k) b[k] = ak_operand(kind, threadIdx.x * 8 + 4 + k + blockIdx.x * 4096);         \
    for (int n = 0; n < 8; ++n)                                                                               \
      for (int k = 0; k < 4; ++k) c[n][k] = 0;                                                                \
    for (int s = 0; s < steps; ++s) {                                                                         \
      _Pragma("unroll") for (int n = 0; n < 8; ++n) {                                                         \
        asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                             \
                     : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                     \
      }                                                                                                       \
    }                                                                                                         \
    float sum = 0;                                                                                            \
    for (int n = 0; n < 8; ++n)                                                                               \
      for (int k = 0; k < 4; ++k) sum += c[n][k];                                                             \
    if (sum == 1.2345e30f) out[threadIdx.x] = sum;                                                            \
  }

#if __CUDA_ARCH__ >= 800
AK_MMA(ak_peak_mma_f16, 0, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
AK_MMA(ak_peak_mma_bf16, 1, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
AK_MMA(ak_peak_mma_tf32, 2, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
#endif
#if __CUDA_ARCH__ >= 890
AK_MMA(ak_peak_mma_e4m3, 3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Operands in shared memory in the layout without swizzle: 8 x 16-byte core matrices, one after another.
__device__ inline ak_u64 ak_descriptor(const void* at) {
  ak_u64 address = (ak_u64)__cvta_generic_to_shared(at);
  return ((address & 0x3ffff) >> 4) | ((ak_u64)(128 >> 4) << 16) | ((ak_u64)(256 >> 4) << 32);
}

#define AK_C8(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])
#define AK_C64(i) AK_C8(i), AK_C8(i + 8), AK_C8(i + 16), AK_C8(i + 24), AK_C8(i + 32), AK_C8(i + 40), AK_C8(i + 48), AK_C8(i + 56)

#define AK_WGMMA(name, kind, shape, tail)                                                                     \
  extern "C" __global__ void __launch_bounds__(256, 1) name(float* out, int steps) {                          \
    __shared__ __align__(1024) ak_u32 data[2 * 64 * 8 + 256 * 8];                                             \
    for (int i = threadIdx.x; i < 2 * 64 * 8 + 256 * 8; i += 256) data[i] = ak_operand(kind, i + blockIdx.x * 65536); \
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                              \
    __syncthreads();                                                                                          \
    ak_u64 a = ak_descriptor(data + (threadIdx.x / 128) * 64 * 8), b = ak_descriptor(data + 2 * 64 * 8);       \
    float c[128];                                                                                             \
    _Pragma("unroll") for (int k = 0; k < 128; ++k) c[k] = 0;                                                 \
_Pragma("unroll 1") for (int s = 0; s < steps; s += 16) { \
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); \
      _Pragma("unroll") for (int k = 0; k < 16; ++k) \
      asm volatile( \
          "wgmma.mma_async.sync.aligned." shape \
          " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28," \
          "%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55," \
          "%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82," \
          "%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107," \
          "%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, " \
          "%128, %129, 1, 1, 1" tail ";" \
          : AK_C64(0), AK_C64(64) \
          : "l"(a), "l"(b)); \
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); \
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); \
    } \
    float sum = 0;                                                                                            \
    _Pragma("unroll") for (int k = 0; k < 128; ++k) sum += c[k];                                              \
    if (sum == 1.2345e30f) out[threadIdx.x] = sum;                                                            \
  }

AK_WGMMA(ak_peak_wgmma_f16, 0, "m64n256k16.f32.f16.f16", ", 0, 0")
AK_WGMMA(ak_peak_wgmma_bf16, 1, "m64n256k16.f32.bf16.bf16", ", 0, 0")
AK_WGMMA(ak_peak_wgmma_tf32, 2, "m64n256k8.f32.tf32.tf32", "")
AK_WGMMA(ak_peak_wgmma_e4m3, 3, "m64n256k32.f32.e4m3.e4m3", "")
#endif
