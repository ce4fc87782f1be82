/* autokernel
op = "matmul"
about = "warpgroups (wgmma) on tiles that TMA brings, a ring of stages ahead, to blocks that go on from tile to tile"
dtypes = ["f16", "bf16"]
arch = ["sm_90a"]
[tunables]
BM = [64, 128, 256]             # tile of c that a block makes
BN = [64, 128, 192, 256]
CONSUMERS = [1, 2]              # warpgroups that multiply; each makes BM / CONSUMERS x BN
STAGES = [2, 3, 4, 5, 6, 7, 8]  # tiles of 64 terms in shared memory
CLUSTER_M = [1, 2]              # blocks of a cluster, by rows: they share their tiles of b
CLUSTER_N = [1, 2]              # by columns: they share their tiles of a
GROUP = [1, 2, 4, 8, 16]        # rows of tiles (of clusters) that are made together: their columns of b stay in L2
BLOCKS = [1, 2]                 # on a multiprocessor
SPLITS = [1, 2, 4, 8]           # parts of K, made by blocks of their own where there are few tiles
STAY = [true, false]            # blocks go on with further tiles; else one tile a block
[constraints]
where = [
  "BM % (64 * CONSUMERS) == 0",
  "BM / CONSUMERS * BN <= 128 * 128",               # 128 sums a thread
  "BM % (64 * CLUSTER_N) == 0", "BN % (64 * CLUSTER_M) == 0",   # each block loads its part of what is shared
  "BLOCKS == 1 || CONSUMERS * BN <= 128",           # two blocks leave a thread 80 or 128 registers to start with
  "SPLITS == 1 || SPLITS * BATCH * ceil_div(M, BM) * ceil_div(N, BN) <= 4 * multiprocessors",
  "BLOCKS * (STAGES * (BM + BN) * 128 + CONSUMERS * 8192 + 2048) <= max_shared_bytes",
]
needs = [                       # TMA wants rows of whole chunks of 16 bytes
  "(TRANS_A ? M : K) % 8 == 0",
  "(TRANS_B ? K : N) % 8 == 0",
  "SPLITS <= ceil_div(K, 64)",
]
[defaults]
BM = 128
BN = 256
CONSUMERS = 2
STAGES = 4
CLUSTER_M = 1
CLUSTER_N = 1
GROUP = 8
BLOCKS = 1
SPLITS = 1
STAY = true
[[workspace]]
name = "partial"
bytes = "SPLITS == 1 ? 4 : 4 * SPLITS * BATCH * M * N"
[[tensormap]]
name = "a_map"
tensor = "a"
box = ["1", "TRANS_A ? 64 : BM / CLUSTER_N", "64"]
swizzle = 128
[[tensormap]]
name = "b_map"
tensor = "b"
box = ["1", "TRANS_B ? BN / CLUSTER_M : 64", "64"]
swizzle = 128
[[launch]]
entry = "matmul"
grid = ["""CLUSTER_M * CLUSTER_N * min(SPLITS * BATCH * ceil_div(M, BM * CLUSTER_M) * ceil_div(N, BN * CLUSTER_N),
           STAY ? max(1, BLOCKS * multiprocessors / (CLUSTER_M * CLUSTER_N)) : 2147483647)"""]
block = ["128 * (1 + CONSUMERS)"]
cluster = ["CLUSTER_M * CLUSTER_N"]
shared_bytes = "STAGES * (BM + BN) * 128 + CONSUMERS * 8192 + STAGES * 16"
args = ["a_map", "b_map", "bias", "c", "partial", "BATCH", "M", "N", "K"]
[[launch]]
entry = "add_parts"
when = "SPLITS > 1"
grid = ["ceil_div(BATCH * M * N, 256)"]
block = ["256"]
args = ["partial", "bias", "c", "BATCH * M * N", "N"]
*/
#include "autokernel/device/activation.cuh"
#include "autokernel/device/convert.cuh"
#include "autokernel/device/mma.cuh"
#include "autokernel/device/tma.cuh"
#include "autokernel/device/wgmma.cuh"

constexpr int kDepth = 64;  // terms of a stage: rows of 128 bytes
constexpr int kCluster = CLUSTER_M * CLUSTER_N;
constexpr int kStageBytes = (BM + BN) * kDepth * 2, kBytesA = BM * kDepth * 2;
constexpr int kRows = BM / CONSUMERS;         // of c, of a warpgroup
constexpr int kStaging = 16 * 64;             // elements of a warp, for their way out
constexpr int kThreads = 128 * (1 + CONSUMERS);
// Registers of a thread: what the launch gives to all, and how the producer's are dealt out.
constexpr int kLaunched = 65536 / (BLOCKS * kThreads) / 8 * 8, kProducers = 40;
constexpr int kLeft = (kLaunched * (1 + CONSUMERS) - kProducers) / CONSUMERS / 8 * 8;
constexpr int kConsumers = kLeft < 240 ? kLeft : 240;

struct Shape {
  int batch, M, N, K;

  __device__ int down() const { return (M + BM * CLUSTER_M - 1) / (BM * CLUSTER_M); }
  __device__ int across() const { return (N + BN * CLUSTER_N - 1) / (BN * CLUSTER_N); }
  __device__ int tiles() const { return SPLITS * batch * down() * across(); }  // of clusters
  // The first step of a part; the last part ends where the next would begin.
  __device__ int begin(int split) const {
    const int steps = (K + kDepth - 1) / kDepth;
    return SPLITS == 1 ? split * steps : split * steps / SPLITS;
  }
};

struct Tile {
  int split, batch, row, column;
};

// The block's part of a cluster's tile: GROUP rows of tiles are made together, column by column.
static __device__ Tile tile_of(const Shape& shape, int number, int rank) {
  const int down = shape.down(), across = shape.across();
  const int outer = number / (down * across), in_batch = number % (down * across);
  const int first = in_batch / (GROUP * across) * GROUP, in_group = in_batch % (GROUP * across);
  const int height = down - first < GROUP ? down - first : GROUP;
  const int row = first + in_group % height, column = in_group / height;
  return {outer / shape.batch, outer % shape.batch, (row * CLUSTER_M + rank % CLUSTER_M) * BM, (column * CLUSTER_N + rank / CLUSTER_M) * BN};
}

// Stages are filled and emptied in turn, and so on from tile to tile.
struct Ring {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
};

struct Shared {
  char* stages;
  ak::mbarrier* full;   // the stage's bytes have arrived
  ak::mbarrier* empty;  // all warps that read it, here and in the blocks that it was sent to, are done
};

// One of kParts parts of an operand's tile, kLines rows (K-major) or columns (MN-major) in all, for each of the `blocks`.
template <bool kTermsInnermost, int kLines, int kParts>
static __device__ void load_part(char* tile, const ak::TensorMap& map, ak::mbarrier* full, int line, int k, int batch,
                                 int part, unsigned blocks) {
  constexpr int kMine = kLines / kParts, kBox = kTermsInnermost ? kMine : 64;
#pragma unroll
  for (int i = 0; i < kMine; i += kBox) {
    const int at = part * kMine + i, x = kTermsInnermost ? k : line + at, y = kTermsInnermost ? line + at : k;
    if (kParts == 1) {
      ak::tma_load(tile + at * 128, map, full, x, y, batch);
    } else {
      ak::tma_load_multicast(tile + at * 128, map, full, x, y, batch, (unsigned short)blocks);
    }
  }
}

static __device__ void produce(const ak::TensorMap& a, const ak::TensorMap& b, const Shared& shared, const Shape& shape,
                               int rank) {
  const int m = rank % CLUSTER_M, n = rank / CLUSTER_M;
  unsigned with_a = 0;  // blocks of the same rows
  for (int i = 0; i < CLUSTER_N; ++i) with_a |= 1u << (m + i * CLUSTER_M);
  const unsigned with_b = ((1u << CLUSTER_M) - 1) << (n * CLUSTER_M);
  Ring ring;
  for (int number = blockIdx.x / kCluster; number < shape.tiles(); number += gridDim.x / kCluster) {
    const Tile tile = tile_of(shape, number, rank);
    const int end = shape.begin(tile.split + 1);
    for (int step = shape.begin(tile.split); step < end; ++step, ring.advance()) {
      char* stage = shared.stages + ring.stage * kStageBytes;
      ak::mbarrier* full = shared.full + ring.stage;
      ak::mbarrier_wait(shared.empty + ring.stage, ring.parity ^ 1);
      ak::mbarrier_expect_bytes(full, kStageBytes);
      load_part<TRANS_A == 0, BM, CLUSTER_N>(stage, a, full, tile.row, step * kDepth, tile.batch, n, with_a);
      load_part<TRANS_B != 0, BN, CLUSTER_M>(stage + kBytesA, b, full, tile.column, step * kDepth, tile.batch, m, with_b);
    }
  }
}

// The warp is done with the stage: it says so to every block that filled a part of it.
static __device__ void release(ak::mbarrier* empty, int rank) {
  const int lane = threadIdx.x % 32;
  if (kCluster == 1) {
    if (lane == 0) ak::mbarrier_arrive(empty);
  } else if (lane < kCluster && (lane % CLUSTER_M == rank % CLUSTER_M || lane / CLUSTER_M == rank / CLUSTER_M)) {
    ak::mbarrier_arrive_at(empty, lane);
  }
}

static __device__ float finished(float sum, const scalar_t* bias, int column, int N) {
#if HAS_BIAS
  if (column < N) sum += ak::to_float(bias[column]);
#else
  (void)bias;
  (void)column;
  (void)N;
#endif
  return ak::activate<ACT>(sum);
}

// A warp's 16 rows of c, 64 columns at a time, go through shared memory, so that rows leave in whole lines of 128 bytes.
static __device__ void store(const float (&sums)[BN / 2], scalar_t* staging, const scalar_t* bias, scalar_t* c, int row,
                             int column, int M, int N) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int part = 0; part < BN; part += 64) {
    __syncwarp();  // all have read what was there
#pragma unroll
    for (int j = 0; j < 64; j += 16) {
      unsigned pairs[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* pair = sums + (part + j) / 2 + 2 * i;
        const int at = column + part + j + i / 2 * 8 + lane % 4 * 2;
        pairs[i] = ak::pack<scalar_t>(finished(pair[0], bias, at, N), finished(pair[1], bias, at + 1, N));
      }
      const int line = lane % 16, chunk = j / 8 + lane / 16;
      ak::store_matrices(staging + ak::swizzled<64>(line, chunk * 8), pairs);
    }
    __syncwarp();
    if (N % 8 == 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int line = 4 * i + lane / 8, at = column + part + lane % 8 * 8;
        const uint4 chunk = *(const uint4*)(staging + ak::swizzled<64>(line, lane % 8 * 8));
        if (row + line < M && at < N) *(uint4*)(c + (long long)(row + line) * N + at) = chunk;
      }
    } else {
      for (int i = 0; i < 32; ++i) {
        const int line = i / 2, in_part = i % 2 * 32 + lane, at = column + part + in_part;
        const scalar_t value = staging[ak::swizzled<64>(line, in_part) + in_part % 8];
        if (row + line < M && at < N) c[(long long)(row + line) * N + at] = value;
      }
    }
  }
}

// The same of a part of K: sums that add_parts finishes.
static __device__ void store_part(const float (&sums)[BN / 2], float* partial, int row, int column, int M, int N) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < BN / 2; j += 2) {
    const int below = row + lane / 4 + j / 2 % 2 * 8, at = column + j / 4 * 8 + lane % 4 * 2;
    float* to = partial + (long long)below * N + at;
    if (below >= M || at >= N) continue;
    if (N % 2 == 0) {
      *(float2*)to = make_float2(sums[j], sums[j + 1]);
    } else {
      to[0] = sums[j];
      if (at + 1 < N) to[1] = sums[j + 1];
    }
  }
}

static __device__ void consume(const Shared& shared, scalar_t* staging, const scalar_t* bias, scalar_t* c, float* partial,
                               const Shape& shape, int rank) {
  const int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4;
  constexpr int kSlice = TRANS_A ? 2048 : 32, kSliceB = TRANS_B ? 32 : 2048;  // bytes to the next 16 terms
  const unsigned base = ak::shared_address(shared.stages);
  float sums[kRows / 64][BN / 2];
  Ring ring;
  for (int number = blockIdx.x / kCluster; number < shape.tiles(); number += gridDim.x / kCluster) {
    const Tile tile = tile_of(shape, number, rank);
    const int begin = shape.begin(tile.split), end = shape.begin(tile.split + 1);
    ak::mbarrier* reading = nullptr;  // the stage whose products may still be under way
    for (int step = begin; step < end; ++step, ring.advance()) {
      ak::mbarrier_wait(shared.full + ring.stage, ring.parity);
      const unsigned stage = base + ring.stage * kStageBytes;
      const ak::WgmmaTile a = ak::WgmmaTile::describe(stage + group * kRows * 128, 64 * 128);
      const ak::WgmmaTile b = ak::WgmmaTile::describe(stage + kBytesA, 64 * 128);
      ak::wgmma_fence();
#pragma unroll
      for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
        for (int i = 0; i < kRows / 64; ++i) {
          ak::wgmma<scalar_t, BN, TRANS_A != 0, TRANS_B == 0>(sums[i], a.at(i * 8192 + k * kSlice), b.at(k * kSliceB),
                                                              step > begin || k > 0);
        }
      }
      ak::wgmma_commit();
      ak::wgmma_wait<1>();
      if (reading != nullptr) release(reading, rank);
      reading = shared.empty + ring.stage;
    }
    ak::wgmma_wait<0>();
    release(reading, rank);
    const long long matrix = (long long)shape.M * shape.N, before = (SPLITS > 1 ? tile.split * shape.batch : 0) + tile.batch;
#pragma unroll
    for (int i = 0; i < kRows / 64; ++i) {
      const int row = tile.row + group * kRows + 64 * i + warp * 16;
      if (SPLITS > 1) {
        store_part(sums[i], partial + before * matrix, row, tile.column, shape.M, shape.N);
      } else {
        store(sums[i], staging, bias, c + before * matrix, row, tile.column, shape.M, shape.N);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, BLOCKS)
    matmul(const __grid_constant__ ak::TensorMap a, const __grid_constant__ ak::TensorMap b, const scalar_t* bias,
           scalar_t* c, float* partial, int batch, int M, int N, int K) {
  extern __shared__ __align__(1024) char memory[];
  scalar_t* staging = (scalar_t*)(memory + STAGES * kStageBytes);
  ak::mbarrier* barriers = (ak::mbarrier*)(staging + CONSUMERS * 4 * kStaging);
  const Shared shared = {memory, barriers, barriers + STAGES};
  const Shape shape = {batch, M, N, K};
  const int rank = kCluster == 1 ? 0 : (int)ak::cluster_rank();
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      ak::mbarrier_init(shared.full + i, 1);
      ak::mbarrier_init(shared.empty + i, CONSUMERS * 4 * (CLUSTER_M + CLUSTER_N - 1));
    }
    ak::mbarrier_init_fence();
  }
  if (kCluster == 1) {
    __syncthreads();
  } else {
    ak::cluster_sync();
  }
  if (threadIdx.x < 128) {
    if (kLaunched < 240) ak::give_registers<kProducers>();
    if (threadIdx.x == 0) produce(a, b, shared, shape, rank);
  } else {
    if (kLaunched < 240) ak::take_registers<kConsumers>();
    consume(shared, staging + (threadIdx.x / 32 - 4) * kStaging, bias, c, partial, shape, rank);
  }
  if (kCluster > 1) ak::cluster_sync();  // no block ends while others still send to it
}

extern "C" __global__ void __launch_bounds__(256)
    add_parts(const float* partial, const scalar_t* bias, scalar_t* c, int elements, int N) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= elements) return;
  float sum = 0;
#pragma unroll
  for (int split = 0; split < SPLITS; ++split) sum += partial[(long long)split * elements + i];
  c[i] = ak::from_float<scalar_t>(finished(sum, bias, i % N, N));
}
