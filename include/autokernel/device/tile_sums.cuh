#pragma once
// Sums of products by tiles, for references. A block of BLOCK threads (1 or 256, the tunable of a reference) makes a
// tile of ak::kTile x ak::kTile sums over `terms`, from factors that are staged in shared memory. A sum has kExact parts
// in fp64, each a result, and one in fp32: with kExact = 0 what an fp32 kernel computes, else a size of error. With one
// thread, as on the CPU device, a tile is what that thread makes. With 256, from sm_80 on, matrix instructions make the fp64
// sums (exactly as multiply-adds would) and the sizes of errors (from factors rounded to TF32: within 0.1 %).
//
//   __shared__ ak::Stage<1> stage;
//   ak::Sums<1> sums = {};
//   ak::accumulate(sums, stage, K, true, [&](int row, int k) { return ak::exact(...); },
//                  false, [&](int column, int k) { return ak::exact(...); });
//   ak::each_sum(sums, [&](int i, int row, int column, const ak::Term<1>& sum) { ... sum.exact[0] ... });

#include "autokernel/device/mma.cuh"

namespace ak {

static_assert(BLOCK == 1 || BLOCK == 256, "a tile is made by 1 thread or by 256");
constexpr int kTile = BLOCK > 1 ? 64 : 4;
constexpr int kRowsEach = BLOCK > 1 ? 2 : 4, kColumnsEach = BLOCK > 1 ? 8 : 4;  // of a thread
constexpr int kRowThreads = kTile / kColumnsEach;                               // that share a row

/// A factor, or a sum of products of such.
template <int kExact>
struct Term {
  double exact[kExact];
  float single;
};
template <>
struct Term<0> {
  float single;
};

/// A factor in fp64, and its absolute value: sizes of errors need no more than fp32.
inline __device__ Term<1> exact(float value) { return {{value}, fabsf(value)}; }
inline __device__ Term<0> single(float value) { return {value}; }

/// The sums of a thread.
template <int kExact>
struct Sums {
  Term<kExact> at[kRowsEach][kColumnsEach];
};

/// Factors of both sides for kDepth terms; each row padded against bank conflicts.
template <int kExact, int kDepth>
struct ExactStage {
  double left[kExact][kTile][kDepth + 4], right[kExact][kTile][kDepth + 4];
};
template <int kDepth>
struct ExactStage<0, kDepth> {};

template <int kExact>
struct Stage {
  static constexpr int kDepth = kExact > 1 ? 8 : 16;
  ExactStage<kExact, kDepth> exact;
  float left[kTile][kDepth + 4], right[kTile][kDepth + 4];
};

#if BLOCK > 1 && (defined(AK_DEVICE_CPU) || __CUDA_ARCH__ >= 800)
#define AK_MATRIX_INSTRUCTIONS 1
#else
#define AK_MATRIX_INSTRUCTIONS 0
#endif

/// All threads of the block are here, and see what the others wrote.
inline __device__ void tile_barrier() {
  if (BLOCK > 1) __syncthreads();
}

// On a GPU a warp makes 16 rows and 32 columns, in 2 x 4 matrices of 8 x 8 whose rows are shared by four lanes.
inline __device__ int warp_row() { return threadIdx.x / 64 * 16; }
inline __device__ int warp_column() { return threadIdx.x / 32 % 2 * 32; }
/// Row and column, within the tile, of a thread's sums [i][j].
inline __device__ int tile_row(int i) { return BLOCK > 1 ? warp_row() + 8 * i + threadIdx.x % 32 / 4 : i; }
inline __device__ int tile_column(int j) {
  return BLOCK > 1 ? warp_column() + j / 2 * 8 + threadIdx.x % 4 * 2 + j % 2 : j;
}
/// Which of the kRowThreads threads of its rows this is.
inline __device__ int tile_across() { return BLOCK > 1 ? threadIdx.x / 32 % 2 * 4 + threadIdx.x % 4 : 0; }

/// put(index, term, factor) for all of a side; outside of the terms the factor is zero. along_terms: neighbours in memory
/// are neighbouring terms, and so neighbouring threads fetch them. Of 256 threads each fetches for one term alone.
template <int kDepth, int kExact, class Load, class Put>
inline __device__ void fetch_factors(bool along_terms, int first, int terms, const Load& load, const Put& put) {
#if BLOCK > 1
  const int thread = threadIdx.x, warp = thread / 32;
  const int index = along_terms ? thread / kDepth : thread % 8 + warp / (kDepth / 4) * 8;
  const int term = along_terms ? thread % kDepth : thread / 8 % 4 + warp % (kDepth / 4) * 4;
  constexpr int kParts = kTile * kDepth / BLOCK, kStep = BLOCK / kDepth;
  Term<kExact> factors[kParts] = {};
  if (first + term < terms) {
#pragma unroll
    for (int part = 0; part < kParts; ++part) factors[part] = load(index + part * kStep, first + term);
  }
#pragma unroll
  for (int part = 0; part < kParts; ++part) put(index + part * kStep, term, factors[part]);
#else
  (void)along_terms;
  for (int at = 0; at < kTile * kDepth; ++at) {
    const int index = at % kTile, term = at / kTile;
    put(index, term, first + term < terms ? load(index, first + term) : Term<kExact>{});
  }
#endif
}

/// The fp32 part of a step of `count` terms, by multiply-adds.
template <int kExact>
inline __device__ void add_single(Sums<kExact>& sums, const Stage<kExact>& stage, int count) {
#pragma unroll 4
  for (int term = 0; term < count; ++term) {
    float rows[kRowsEach], columns[kColumnsEach];
    for (int i = 0; i < kRowsEach; ++i) rows[i] = stage.left[tile_row(i)][term];
    for (int j = 0; j < kColumnsEach; ++j) columns[j] = stage.right[tile_column(j)][term];
    for (int i = 0; i < kRowsEach; ++i)
      for (int j = 0; j < kColumnsEach; ++j) sums.at[i][j].single += rows[i] * columns[j];
  }
}

#if AK_MATRIX_INSTRUCTIONS
/// A step of kDepth terms.
template <int kExact>
inline __device__ void add_terms(Sums<kExact>& sums, const Stage<kExact>& stage, int) {
  constexpr int kDepth = Stage<kExact>::kDepth;
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int part = 0; part < kExact; ++part) {
#pragma unroll
    for (int term = 0; term < kDepth; term += 4) {
      double left[2], right[4];
      for (int i = 0; i < 2; ++i) left[i] = stage.exact.left[part][warp_row() + 8 * i + g][term + t];
      for (int j = 0; j < 4; ++j) right[j] = stage.exact.right[part][warp_column() + 8 * j + g][term + t];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          double pair[2] = {sums.at[i][2 * j].exact[part], sums.at[i][2 * j + 1].exact[part]};
          multiply_add_exact(pair, left[i], right[j]);
          sums.at[i][2 * j].exact[part] = pair[0];
          sums.at[i][2 * j + 1].exact[part] = pair[1];
        }
      }
    }
  }
#pragma unroll
  for (int term = 0; term < kDepth; term += 8) {
    const float(*left)[kDepth + 4] = stage.left + warp_row() + g;
    const float rows[4] = {left[0][term + t], left[8][term + t], left[0][term + t + 4], left[8][term + t + 4]};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float* right = stage.right[warp_column() + 8 * j + g];
      const float columns[2] = {right[term + t], right[term + t + 4]};
      float four[4];
      for (int i = 0; i < 4; ++i) four[i] = sums.at[i / 2][2 * j + i % 2].single;
      multiply_add_tf32(four, rows, columns);
      for (int i = 0; i < 4; ++i) sums.at[i / 2][2 * j + i % 2].single = four[i];
    }
  }
}
#else
/// A step of `count` terms, kDepth unless one thread does them.
template <int kExact>
inline __device__ void add_terms(Sums<kExact>& sums, const Stage<kExact>& stage, int count) {
  for (int part = 0; part < kExact; ++part) {
    for (int term = 0; term < count; ++term) {
      for (int i = 0; i < kRowsEach; ++i) {
        for (int j = 0; j < kColumnsEach; ++j) {
          sums.at[i][j].exact[part] +=
              stage.exact.left[part][tile_row(i)][term] * stage.exact.right[part][tile_column(j)][term];
        }
      }
    }
  }
  add_single(sums, stage, count);
}
#endif
/// What an fp32 kernel computes.
inline __device__ void add_terms(Sums<0>& sums, const Stage<0>& stage, int count) { add_single(sums, stage, count); }

template <int kExact>
inline __device__ void put_term(Stage<kExact>& stage, bool left, int index, int term, const Term<kExact>& factor) {
  for (int part = 0; part < kExact; ++part) {
    (left ? stage.exact.left : stage.exact.right)[part][index][term] = factor.exact[part];
  }
  (left ? stage.left : stage.right)[index][term] = AK_MATRIX_INSTRUCTIONS ? to_tf32(factor.single) : factor.single;
}
inline __device__ void put_term(Stage<0>& stage, bool left, int index, int term, const Term<0>& factor) {
  (left ? stage.left : stage.right)[index][term] = factor.single;
}

/// Adds `terms` products to the tile's sums: left(row, term) and right(column, term) give the factors, with rows and
/// columns from 0 to below kTile; what lies beyond the matrices must be zero. Ends with a barrier.
template <int kExact, class LoadLeft, class LoadRight>
inline __device__ void accumulate(Sums<kExact>& sums, Stage<kExact>& stage, int terms, bool left_along_terms,
                                  const LoadLeft& left, bool right_along_terms, const LoadRight& right) {
  constexpr int kDepth = Stage<kExact>::kDepth;
#pragma unroll 1  // a step is large, and its own loops are unrolled
  for (int first = 0; first < terms; first += kDepth) {
    fetch_factors<kDepth, kExact>(
        left_along_terms, first, terms, left,
        [&](int row, int term, const Term<kExact>& factor) { put_term(stage, true, row, term, factor); });
    fetch_factors<kDepth, kExact>(
        right_along_terms, first, terms, right,
        [&](int column, int term, const Term<kExact>& factor) { put_term(stage, false, column, term, factor); });
    tile_barrier();
    add_terms(sums, stage, BLOCK == 1 && terms - first < kDepth ? terms - first : kDepth);
    tile_barrier();
  }
}

/// I of an intermediate of which many, each rounded on its own, add up to one element, from the sum of the squares of what
/// each rounding may change: three halves of its root. The tolerance grants 2 I; twice the root itself is less than honest
/// kernels need once in some million elements.
inline __device__ double of_many_roundings(double squares) { return 1.5 * sqrt(squares); }

/// change(value) for the i-th of one value a row, in registers, which have no addresses.
template <class T, class Change>
inline __device__ void at_row(T (&values)[kRowsEach], int i, const Change& change) {
#pragma unroll
  for (int row = 0; row < kRowsEach; ++row) {
    if (row == i) change(values[row]);
  }
}

/// The i-th of such values.
template <class T>
inline __device__ T of_row(const T (&values)[kRowsEach], int i) {
  T value = values[0];
#pragma unroll
  for (int row = 1; row < kRowsEach; ++row) {
    if (row == i) value = values[row];
  }
  return value;
}

/// visit(i, row, column, sum) for each of the thread's sums, the i-th of its rows after the other. Of 256 threads each moves
/// its sums to where the code of visit() looks, so that there are two copies of it and not one for each sum.
template <int kExact, class Visit>
inline __device__ void each_sum(Sums<kExact>& sums, const Visit& visit) {
#if BLOCK > 1
#pragma unroll 1
  for (int at = 0; at < kRowsEach * kColumnsEach; at += 2) {
    const int i = at / kColumnsEach, j = at % kColumnsEach;
    visit(i, tile_row(i), tile_column(j), sums.at[0][0]);
    visit(i, tile_row(i), tile_column(j + 1), sums.at[0][1]);
#pragma unroll
    for (int next = 2; next < kRowsEach * kColumnsEach; ++next) {
      const int to = next - 2;
      sums.at[to / kColumnsEach][to % kColumnsEach] = sums.at[next / kColumnsEach][next % kColumnsEach];
    }
  }
#else
  for (int i = 0; i < kRowsEach; ++i) {
    for (int j = 0; j < kColumnsEach; ++j) visit(i, tile_row(i), tile_column(j), sums.at[i][j]);
  }
#endif
}

}  // namespace ak
