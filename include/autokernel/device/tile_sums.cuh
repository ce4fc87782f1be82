#pragma once
// Sums of products by tiles, for references. A block of BLOCK threads (1 or 256, the tunable of a reference) makes a
// tile of ak::kTile x ak::kTile sums over `terms`, each thread 4 x 4 of them in registers, from factors that are staged
// in shared memory. On the CPU device, with its one thread, a tile is what that thread makes. Terms are added in order.
//
//   __shared__ ak::Stage<ak::Exact, ak::Exact> stage;
//   ak::ExactSum sums[4][4] = {};
//   ak::accumulate<true, false>(sums, stage, K, [&](int row, int k) { return ...; }, [&](int column, int k) { return ...; });
//   ak::each_sum([&](int i, int j, int row, int column) { ... sums[i][j] ... });

namespace ak {

static_assert(BLOCK == 1 || BLOCK == 256, "a tile is made by 1 thread or by 256");
constexpr int kTile = BLOCK > 1 ? 64 : 4;
constexpr int kTileThreads = kTile / 4;  // along either side of the tile

/// A factor in fp64, and its absolute value: sizes of errors need no more than fp32.
struct Exact {
  double value;
  float size;
};
inline __device__ Exact exact(float value) { return {value, fabsf(value)}; }

/// The sum of products and that of their absolute values.
struct ExactSum {
  double value;
  float size;
  inline __device__ void add(const Exact& a, const Exact& b) {
    value += a.value * b.value;
    size += a.size * b.size;
  }
};

/// The same as an fp32 kernel adds it.
struct FloatSum {
  float value;
  inline __device__ void add(float a, float b) { value += a * b; }
};

/// Factors of `kDepth` terms. Rows are one longer than the tile, so that transposing stores meet no bank conflicts.
template <class Left, class Right>
struct Stage {
  static constexpr int kDepth = sizeof(Left) + sizeof(Right) > 32 ? 8 : 16;
  Left left[kDepth][kTile + 1];
  Right right[kDepth][kTile + 1];
};

/// All threads of the block are here, and see what the others wrote.
inline __device__ void tile_barrier() {
  if (BLOCK > 1) __syncthreads();
}

// A warp covers 4 x 8 threads: its reads of a row and of a column of factors are 64 and 128 bytes for Exact.
inline __device__ int tile_down() { return BLOCK > 1 ? threadIdx.x / 64 * 4 + threadIdx.x % 32 / 8 : 0; }
inline __device__ int tile_across() { return BLOCK > 1 ? threadIdx.x / 32 % 2 * 8 + threadIdx.x % 8 : 0; }
/// Row and column, within the tile, of a thread's sums [i][j].
inline __device__ int tile_row(int i) { return tile_down() + kTileThreads * i; }
inline __device__ int tile_column(int j) { return tile_across() + kTileThreads * j; }

/// kAlongTerms: neighbours in memory are neighbouring terms, and so neighbouring threads fetch them.
template <bool kAlongTerms, int kDepth, class Factor, class Load>
inline __device__ void fetch_factors(Factor (&to)[kDepth][kTile + 1], int first, int terms, const Load& load) {
#pragma unroll
  for (int part = 0; part < kTile * kDepth / BLOCK; ++part) {
    const int at = part * BLOCK + threadIdx.x;
    constexpr bool kAlong = kAlongTerms && BLOCK > 1;  // one thread rather does a term at a time
    const int index = kAlong ? at / kDepth : at % kTile, term = kAlong ? at % kDepth : at / kTile;
    to[term][index] = first + term < terms ? load(index, first + term) : Factor{};
  }
}

/// Adds `terms` products to the tile's sums: left(row, term) and right(column, term) give the factors, with rows and
/// columns from 0 to below kTile; what lies beyond the matrices must be Factor{}. Ends with a barrier.
template <bool kLeftAlongTerms, bool kRightAlongTerms, class Sum, class Left, class Right, class LoadLeft,
          class LoadRight>
inline __device__ void accumulate(Sum (&sums)[4][4], Stage<Left, Right>& stage, int terms, const LoadLeft& left,
                                  const LoadRight& right) {
  constexpr int kDepth = Stage<Left, Right>::kDepth;
  for (int first = 0; first < terms; first += kDepth) {
    fetch_factors<kLeftAlongTerms>(stage.left, first, terms, left);
    fetch_factors<kRightAlongTerms>(stage.right, first, terms, right);
    tile_barrier();
#pragma unroll 4
    for (int term = 0; term < kDepth; ++term) {
      if (BLOCK == 1 && first + term >= terms) break;
      Left rows[4];
      Right columns[4];
      for (int i = 0; i < 4; ++i) rows[i] = stage.left[term][tile_row(i)];
      for (int j = 0; j < 4; ++j) columns[j] = stage.right[term][tile_column(j)];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j].add(rows[i], columns[j]);
    }
    tile_barrier();
  }
}

/// visit(i, j, row, column) for each of the thread's sums.
template <class Visit>
inline __device__ void each_sum(const Visit& visit) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) visit(i, j, tile_row(i), tile_column(j));
  }
}

}  // namespace ak
