#pragma once
// Matrix instructions of tensor cores, and the copies that feed them (sm_80 and later), each one PTX instruction. On the
// CPU device the same functions are computed lane by lane, so that a kernel written with them is checked there too.
// All 32 lanes of a warp call them together. In what follows g = lane / 4 and t = lane % 4; a register of 32 bits holds
// two neighbouring elements of 16 bits, the first in its low half.
//
//   ak::copy_tile<64, 32, THREADS>(tile, a, row, M, k, K);   // into shared memory; copy_commit, copy_wait, __syncthreads
//   ak::load_left<32, false>(left, tile, 0, 0);              // 16 x 16 of it into the registers of a warp
//   ak::multiply_add<scalar_t>(sums, left, right[0], right[1]);
#include "autokernel/device/convert.cuh"
#ifndef AK_DEVICE_CPU
#include "autokernel/device/shared_address.cuh"
#endif

namespace ak {

/// Two floats, each rounded to the nearest T, in one register.
template <class T>
inline __device__ unsigned pack(float low, float high) {
  const T first = from_float<T>(low), second = from_float<T>(high);
  unsigned short bits[2];
  memcpy(bits, &first, 2);
  memcpy(bits + 1, &second, 2);
  return bits[0] | (unsigned)bits[1] << 16;
}

#ifdef AK_DEVICE_CPU

namespace detail {
template <class T>
inline __device__ float half_of(unsigned pair, int index) {
  const unsigned short bits = (unsigned short)(pair >> (16 * index));
  T value;
  memcpy(&value, &bits, 2);
  return to_float(value);
}
inline __device__ unsigned register_of(const ak_prelude::Exchange& all, int lane, int index) {
  return (unsigned)(all.values[lane] >> (32 * index));
}
}  // namespace detail

template <class T>
inline __device__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  ak_prelude::Exchange near, far, other;  // the lanes' a of k < 8 and of k >= 8, and their b
  ak_prelude::exchange_lanes(0xffffffffu, a[0] | (unsigned long long)a[1] << 32, near);
  ak_prelude::exchange_lanes(0xffffffffu, a[2] | (unsigned long long)a[3] << 32, far);
  ak_prelude::exchange_lanes(0xffffffffu, b0 | (unsigned long long)b1 << 32, other);
  const int lane = (int)ak_prelude::lane(), g = lane / 4, t = lane % 4;
  for (int i = 0; i < 4; ++i) {
    const int below = i / 2, column = 2 * t + i % 2;
    for (int k = 0; k < 16; ++k) {
      const unsigned left = detail::register_of(k < 8 ? near : far, 4 * g + k % 8 / 2, below);
      const unsigned right = detail::register_of(other, 4 * column + k % 8 / 2, k / 8);
      c[i] += detail::half_of<T>(left, k % 2) * detail::half_of<T>(right, k % 2);
    }
  }
}

inline __device__ void multiply_add_exact(double (&c)[2], double a, double b) {
  ak_prelude::Exchange left, right;
  ak_prelude::exchange_lanes(0xffffffffu, ak_prelude::pack(a), left);
  ak_prelude::exchange_lanes(0xffffffffu, ak_prelude::pack(b), right);
  const int lane = (int)ak_prelude::lane(), g = lane / 4, t = lane % 4;
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 4; ++k) {
      c[i] = fma(ak_prelude::unpack<double>(left.values[4 * g + k]),
                 ak_prelude::unpack<double>(right.values[4 * (2 * t + i) + k]), c[i]);
    }
  }
}

inline __device__ float to_tf32(float value) {
  const unsigned bits = __float_as_uint(value);
  return (bits & 0x7f800000u) == 0x7f800000u ? value : __uint_as_float((bits + 0x1000u) & 0xffffe000u);
}

inline __device__ void multiply_add_tf32(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
  ak_prelude::Exchange near, far, other;  // the lanes' a of k < 4 and of k >= 4, and their b
  const auto pair = [](float low, float high) {
    return __float_as_uint(low) | (unsigned long long)__float_as_uint(high) << 32;
  };
  ak_prelude::exchange_lanes(0xffffffffu, pair(a[0], a[1]), near);
  ak_prelude::exchange_lanes(0xffffffffu, pair(a[2], a[3]), far);
  ak_prelude::exchange_lanes(0xffffffffu, pair(b[0], b[1]), other);
  const int lane = (int)ak_prelude::lane(), g = lane / 4, t = lane % 4;
  const auto cut = [](unsigned bits) { return __uint_as_float(bits & 0xffffe000u); };
  for (int i = 0; i < 4; ++i) {
    const int column = 2 * t + i % 2;
    for (int k = 0; k < 8; ++k) {
      c[i] += cut(detail::register_of(k < 4 ? near : far, 4 * g + k % 4, i / 2)) *
              cut(detail::register_of(other, 4 * column + k % 4, k / 4));
    }
  }
}

inline __device__ void load_matrices(unsigned (&to)[4], const void* row) {
  ak_prelude::Exchange rows;
  ak_prelude::exchange_lanes(0xffffffffu, (unsigned long long)row, rows);
  const int lane = (int)ak_prelude::lane();
  for (int i = 0; i < 4; ++i) to[i] = ((const unsigned*)rows.values[8 * i + lane / 4])[lane % 4];
}

inline __device__ void load_matrices_transposed(unsigned (&to)[4], const void* row) {
  ak_prelude::Exchange rows;
  ak_prelude::exchange_lanes(0xffffffffu, (unsigned long long)row, rows);
  const int lane = (int)ak_prelude::lane(), first = lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const unsigned short* upper = (const unsigned short*)rows.values[8 * i + first];
    const unsigned short* lower = (const unsigned short*)rows.values[8 * i + first + 1];
    to[i] = upper[lane / 4] | (unsigned)lower[lane / 4] << 16;
  }
}

inline __device__ void store_matrices(void* row, const unsigned (&from)[4]) {
  ak_prelude::Exchange rows;
  ak_prelude::exchange_lanes(0xffffffffu, (unsigned long long)row, rows);
  const int lane = (int)ak_prelude::lane();
  for (int i = 0; i < 4; ++i) ((unsigned*)rows.values[8 * i + lane / 4])[lane % 4] = from[i];
}

inline __device__ void copy_async(void* shared, const void* global, bool inside) {
  const uint4 nothing = {0, 0, 0, 0};
  *(uint4*)shared = inside ? *(const uint4*)global : nothing;
}
inline __device__ void copy_commit() {}
template <int kGroups>
inline __device__ void copy_wait() {}

#else

namespace detail {
template <class T>
struct Multiply;
template <>
struct Multiply<__half> {
  static __device__ void add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
template <>
struct Multiply<__nv_bfloat16> {
  static __device__ void add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
}  // namespace detail

/// c += a b for a 16 x 16 and b 16 x 8 of T (__half or __nv_bfloat16), with fp32 sums. The lane holds
/// a[0] = a[g][2t, 2t + 1], a[1] = a[g + 8][..], a[2] = a[g][2t + 8, 2t + 9], a[3] = a[g + 8][..];
/// b0 = b[2t, 2t + 1][g], b1 = b[2t + 8, 2t + 9][g]; c[0], c[1] = c[g][2t, 2t + 1], c[2], c[3] = c[g + 8][..].
template <class T>
inline __device__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  detail::Multiply<T>::add(c, a, b0, b1);
}

/// The same in fp64 for a 8 x 4 and b 4 x 8: the lane holds a[g][t], b[t][g] and c[g][2t, 2t + 1].
inline __device__ void multiply_add_exact(double (&c)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
}

/// The nearest float of 10 bits behind the point, which is what multiply_add_tf32 sees of one.
inline __device__ float to_tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __uint_as_float(bits);
}

/// The same for a 16 x 8 and b 8 x 8 in TF32, with fp32 sums: a[0] = a[g][t], a[1] = a[g + 8][t], a[2] = a[g][t + 4],
/// a[3] = a[g + 8][t + 4]; b[0] = b[t][g], b[1] = b[t + 4][g]; c as above.
inline __device__ void multiply_add_tf32(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])), "r"(__float_as_uint(a[3])),
        "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

/// Four matrices of 8 x 8 elements from shared memory. Lane l gives the address of row l % 8 of matrix l / 8, which is
/// 16 bytes, aligned; to[i] becomes elements 2t and 2t + 1 of row g of matrix i.
inline __device__ void load_matrices(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/// The same of the transposed matrices: to[i] becomes elements g of rows 2t and 2t + 1.
inline __device__ void load_matrices_transposed(unsigned (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}

/// The way back (sm_90): from[i], elements 2t and 2t + 1 of row g of matrix i, goes to the rows whose addresses the lanes
/// give.
inline __device__ void store_matrices(void* row, const unsigned (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(from[0]),
               "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

/// Begins to copy 16 bytes, or 16 bytes of zeros where the source is not `inside`: then it is not read. Both addresses are
/// multiples of 16.
inline __device__ void copy_async(void* shared, const void* global, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
               "r"(inside ? 16 : 0)
               : "memory");
}
/// The copies that this thread has begun since the last time become a group.
inline __device__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until at most kGroups of the thread's groups are still on their way.
template <int kGroups>
inline __device__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

#endif

/// Where, in a tile of rows of kWidth elements of 16 bits, the chunk of 8 elements at `column` lies: chunks change places
/// within their row, so that those of eight rows and one column, which load_matrices reads at once, lie in all banks.
template <int kWidth>
inline __device__ int swizzled(int row, int column) {
  static_assert(kWidth % 8 == 0, "rows of whole chunks of 16 bytes");
  constexpr int kChunks = kWidth / 8, kTwos = kChunks & -kChunks, kPlaces = kTwos < 8 ? kTwos : 8;
  return row * kWidth + (column / 8 ^ row * kPlaces / 8 % kPlaces) * 8;
}

/// Brings kHeight x kWidth elements, from `row` and `column` of a [rows, columns] matrix on, into a swizzled tile; zeros
/// beyond the matrix. All kThreads threads of the block do it. Asynchronous where rows are multiples of 16 bytes.
template <int kHeight, int kWidth, int kThreads, class T>
inline __device__ void copy_tile(T* tile, const T* matrix, int row, int rows, int column, int columns) {
  const bool aligned = columns % 8 == 0;
  constexpr int kChunks = kHeight * kWidth / 8, kDown = kThreads / (kWidth / 8);
  if (aligned && kThreads % (kWidth / 8) == 0 && kDown % 8 == 0) {
    // A thread's chunks lie kDown rows apart, below each other also where they go to.
    const int i = threadIdx.x / (kWidth / 8), j = threadIdx.x % (kWidth / 8) * 8;
    T* to = tile + swizzled<kWidth>(i, j);
    const T* from = matrix + (long long)(row + i) * columns + column + j;
    const int left = column + j < columns ? rows - row - i : 0;  // rows of the matrix from the first on
#pragma unroll
    for (int part = 0; part * kThreads < kChunks; ++part) {
      if ((part + 1) * kThreads > kChunks && part * kThreads + (int)threadIdx.x >= kChunks) break;
      copy_async(to + part * kDown * kWidth, from + (long long)(part * kDown) * columns, part * kDown < left);
    }
    return;
  }
  for (int at = threadIdx.x; at < kChunks; at += kThreads) {
    const int i = at / (kWidth / 8), j = at % (kWidth / 8) * 8;
    T* to = tile + swizzled<kWidth>(i, j);
    const T* from = matrix + (long long)(row + i) * columns + column + j;
    if (aligned) {
      copy_async(to, from, row + i < rows && column + j < columns);
    } else {
      for (int k = 0; k < 8; ++k) {
        to[k] = row + i < rows && column + j + k < columns ? from[k] : from_float<T>(0.0f);
      }
    }
  }
}

/// 16 x 16 elements of a tile, rows from m and terms from k on, as multiply_add takes its a. kTransposed: the tile's rows
/// are terms.
template <int kWidth, bool kTransposed, class T>
inline __device__ void load_left(unsigned (&to)[4], const T* tile, int m, int k) {
  const int lane = threadIdx.x % 32;
  if (kTransposed) {
    load_matrices_transposed(to, tile + swizzled<kWidth>(k + lane / 16 * 8 + lane % 8, m + lane / 8 % 2 * 8));
  } else {
    load_matrices(to, tile + swizzled<kWidth>(m + lane % 16, k + lane / 16 * 8));
  }
}

/// 16 x 16 elements of a tile, terms from k and columns from n on: to[0], to[1] are b0, b1 of the first 8 columns, to[2],
/// to[3] those of the next. kTransposed: the tile's rows are columns of b.
template <int kWidth, bool kTransposed, class T>
inline __device__ void load_right(unsigned (&to)[4], const T* tile, int k, int n) {
  const int lane = threadIdx.x % 32;
  if (kTransposed) {
    load_matrices(to, tile + swizzled<kWidth>(n + lane / 16 * 8 + lane % 8, k + lane / 8 % 2 * 8));
  } else {
    load_matrices_transposed(to, tile + swizzled<kWidth>(k + lane % 16, n + lane / 16 * 8));
  }
}

}  // namespace ak
