#pragma once
// The tensor memory accelerator (sm_90): one thread has a box of a tensor copied to shared memory, while all others go
// on. The kernel file declares the box as a [[tensormap]] and passes it by name. Not for the CPU device.
//
//   extern "C" __global__ void k(const __grid_constant__ ak::TensorMap x_map, ...) {
//     if (threadIdx.x == 0) {
//       ak::mbarrier_expect_bytes(full, 64 * 64 * 2);                // autokernel/device/mbarrier.cuh
//       ak::tma_load(tile, x_map, full, column, row, 0);             // innermost coordinate first, in elements
//     }
//     ak::mbarrier_wait(full, 0);
//
// Elements outside of the tensor arrive as zeros and count as bytes. The tile lies densely, the last dim innermost, at a
// multiple of 128 bytes. With a swizzle of 128 bytes the box is 128 bytes wide, the tile begins at a multiple of 1024, and
// of elements of 16 bits ak::swizzled<64> (autokernel/device/mma.cuh) tells where they went.
#include "autokernel/device/mbarrier.cuh"

namespace ak {

/// A parameter that the front matter's `[[tensormap]]` fills: the driver's CUtensorMap.
struct alignas(64) TensorMap {
  char opaque[128];
};

/// Begins to copy the box at (x, y, z) of a tensor of rank 3; its bytes arrive at `barrier`.
inline __device__ void tma_load(void* shared, const TensorMap& map, mbarrier* barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
          shared_address(shared)),
      "l"(&map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z)
      : "memory");
}

/// The same to several blocks of the cluster, those whose ranks are bits of `blocks`: to the same place in the shared
/// memory of each, arriving at the same barrier of each.
inline __device__ void tma_load_multicast(void* shared, const TensorMap& map, mbarrier* barrier, int x, int y, int z,
                                          unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
      "%4, %5}], [%2], %6;" ::"r"(shared_address(shared)),
      "l"(&map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "h"(blocks)
      : "memory");
}

}  // namespace ak
