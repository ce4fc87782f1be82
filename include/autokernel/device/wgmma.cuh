#pragma once
// Matrix instructions of a warpgroup (PTX `wgmma`, sm_90a): four warps, the first of which has a number that is a multiple
// of 4, multiply tiles that lie in shared memory. Not for the CPU device, which has the descriptors only.
//
//   ak::wgmma_fence();                                               // before the first, and after sums were touched
//   for (int k = 0; k < 4; ++k)                                      // 64 terms
//     ak::wgmma<scalar_t, 256, false, false>(sums, a.at(32 * k), b.at(32 * k), true);
//   ak::wgmma_commit();
//   ak::wgmma_wait<0>();                                             // now `sums` may be read, the tiles overwritten
//
// Tiles lie as TMA brings them with a swizzle of 128 bytes (autokernel/device/tma.cuh): rows of 64 elements of 16 bits,
// beginning at a multiple of 1024 bytes. Either the terms are innermost (K-major: a stored [M, K], b stored [N, K]), the
// rows of an operand below each other, or the rows and columns of c are (MN-major: a stored [K, M], b stored [K, N]), a
// block of 64 of them behind the other.
#include "autokernel/device/convert.cuh"

namespace ak {

/// A matrix descriptor for a tile of this kind (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", matrix
/// descriptor format): bits 0 to 13 its address, 16 to 29 the distance of blocks of 64 rows (MN-major only), 32 to 45 that
/// of groups of 8 lines of 128 bytes, each in units of 16 bytes; bits 62 and 63 the swizzle, 1 for 128 bytes.
struct WgmmaTile {
  unsigned long long bits;

  /// `block_bytes`: from one block of 64 rows or columns to the next in a MN-major tile.
  static constexpr __device__ WgmmaTile describe(unsigned address, unsigned block_bytes) {
    return {(address & 0x3ffff) >> 4 | (unsigned long long)(block_bytes >> 4) << 16 | (1024ull >> 4) << 32 | 1ull << 62};
  }
  /// The tile that begins so many bytes further on. 16 terms on are 32 bytes K-major, 2048 bytes MN-major; 64 rows on are
  /// 8192 bytes K-major and `block_bytes` MN-major.
  constexpr __device__ WgmmaTile at(unsigned bytes) const { return {bits + (bytes >> 4)}; }
};

#ifndef AK_DEVICE_CPU

/// Orders the warpgroup's accesses to `sums` before its next wgmma.
inline __device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// What the warpgroup has begun since the last time becomes a group.
inline __device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most kGroups groups are under way.
template <int kGroups>
inline __device__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

/// The registers that a thread may use become kRegisters, a multiple of 8 from 24 to 256: all warps of a warpgroup say so,
/// those that need fewer first. The kernel has a `__launch_bounds__(threads, blocks)`.
template <int kRegisters>
inline __device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
inline __device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

namespace detail {

// Operands of the instructions: their names in the text, and the sums they stand for.
#define AK_WGMMA_NAMES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define AK_WGMMA_NAMES_64 \
  AK_WGMMA_NAMES_32 \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
  "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define AK_WGMMA_NAMES_96 \
  AK_WGMMA_NAMES_64 \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, " \
  "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define AK_WGMMA_NAMES_128 \
  AK_WGMMA_NAMES_96 \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, " \
  "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define AK_WGMMA_SUMS_8(i) \
  "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])
#define AK_WGMMA_SUMS_32(i) AK_WGMMA_SUMS_8(i), AK_WGMMA_SUMS_8(i + 8), AK_WGMMA_SUMS_8(i + 16), AK_WGMMA_SUMS_8(i + 24)

// So many columns have half as many sums; the operands behind these are the two tiles, whether to add, and how they lie.
#define AK_WGMMA(columns, type, names, A, B, add, left, right, ...)                                                    \
  static __device__ void multiply(float (&c)[columns / 2], unsigned long long a, unsigned long long b, int accumulate) {  \
    asm volatile("{\n .reg .pred add;\n setp.ne.b32 add, %" #add ", 0;\n wgmma.mma_async.sync.aligned.m64n" #columns     \
                 "k16.f32." type "." type " {" names "}, %" #A ", %" #B ", add, 1, 1, %" #left ", %" #right ";\n}"        \
                 : __VA_ARGS__                                                                                          \
                 : "l"(a), "l"(b), "r"(accumulate), "n"(kLeft), "n"(kRight));                                           \
  }
#define AK_WGMMA_ALL(type)                                                                                              \
  AK_WGMMA(64, type, AK_WGMMA_NAMES_32, 32, 33, 34, 35, 36, AK_WGMMA_SUMS_32(0))                                        \
  AK_WGMMA(128, type, AK_WGMMA_NAMES_64, 64, 65, 66, 67, 68, AK_WGMMA_SUMS_32(0), AK_WGMMA_SUMS_32(32))                 \
  AK_WGMMA(192, type, AK_WGMMA_NAMES_96, 96, 97, 98, 99, 100, AK_WGMMA_SUMS_32(0), AK_WGMMA_SUMS_32(32),                \
           AK_WGMMA_SUMS_32(64))                                                                                        \
  AK_WGMMA(256, type, AK_WGMMA_NAMES_128, 128, 129, 130, 131, 132, AK_WGMMA_SUMS_32(0), AK_WGMMA_SUMS_32(32),           \
           AK_WGMMA_SUMS_32(64), AK_WGMMA_SUMS_32(96))

template <class T, int kLeft, int kRight>
struct Wgmma;
template <int kLeft, int kRight>
struct Wgmma<__half, kLeft, kRight> {
  AK_WGMMA_ALL("f16")
};
template <int kLeft, int kRight>
struct Wgmma<__nv_bfloat16, kLeft, kRight> {
  AK_WGMMA_ALL("bf16")
};

#undef AK_WGMMA_NAMES_32
#undef AK_WGMMA_NAMES_64
#undef AK_WGMMA_NAMES_96
#undef AK_WGMMA_NAMES_128
#undef AK_WGMMA_SUMS_8
#undef AK_WGMMA_SUMS_32
#undef AK_WGMMA
#undef AK_WGMMA_ALL

}  // namespace detail

/// Begins c = a b (+ c where `accumulate`) for a 64 x 16 and b 16 x kColumns (64, 128, 192 or 256) of T (__half or
/// __nv_bfloat16) with fp32 sums. kLeft, kRight: a, b are MN-major. Warp w (of 4), lane l, g = l / 4 and t = l % 4 hold
/// c[4 j + 2 i + e] = c[16 w + 8 i + g][8 j + 2 t + e].
template <class T, int kColumns, bool kLeft, bool kRight>
inline __device__ void wgmma(float (&c)[kColumns / 2], WgmmaTile a, WgmmaTile b, bool accumulate) {
  detail::Wgmma<T, kLeft, kRight>::multiply(c, a.bits, b.bits, accumulate);
}

#endif

}  // namespace ak
