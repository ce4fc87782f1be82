#pragma once
// A barrier of the whole grid, for launches that the front matter declares cooperative:
//
//   #include "autokernel/device/grid.cuh"
//   ak::sync_grid(arrived);                  // by all threads of all blocks; `arrived` is 4 bytes of a workspace
//
// The workspace must be declared `zeroed`; any number of barriers may use the same one. What was written to memory
// before the barrier is seen after it. <cooperative_groups.h> costs seconds under NVRTC and keeps a table in device
// memory, which the audit takes for state.
#ifdef AK_DEVICE_CPU
#include <cooperative_groups.h>
#endif

namespace ak {

inline __device__ void sync_grid(unsigned* arrived) {
#ifdef AK_DEVICE_CPU
  (void)arrived;
  cooperative_groups::this_grid().sync();
#else
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    __threadfence();
    // This barrier is over when all blocks have arrived as often as the last block of it.
    const unsigned ticket = atomicAdd(arrived, 1u);
    const unsigned last = ticket - ticket % blocks + blocks;
    while (static_cast<int>(*static_cast<volatile unsigned*>(arrived) - last) < 0) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
#endif
}

}  // namespace ak
