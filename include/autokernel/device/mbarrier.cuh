#pragma once
// Memory barriers in shared memory (PTX `mbarrier`, sm_90) and clusters of blocks, each function one instruction or two.
// Not for the CPU device: a kernel that needs them says `arch = ["sm_90a"]`.
//
//   extern __shared__ ak::mbarrier full[];                           // one a stage
//   if (threadIdx.x == 0) ak::mbarrier_init(full, 1), ak::mbarrier_init_fence();
//   __syncthreads();
//   if (threadIdx.x == 0) ak::mbarrier_expect_bytes(full, 8192), ak::tma_load(...);   // arrives; so do the bytes
//   ak::mbarrier_wait(full, 0);                                      // the first phase is over
//
// A phase ends when as many threads have arrived as mbarrier_init said and all bytes that were announced are there; the
// next one begins at once. Phases count from 0: a wait names the parity of the phase whose end it awaits, so that
// parity 1 of a new barrier has ended already (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
#include "autokernel/device/shared_address.cuh"

namespace ak {

/// The object in shared memory, aligned to 8 bytes. Only the functions below touch it.
using mbarrier = unsigned long long;

/// By one thread, before any other use: each phase awaits `arrivals`.
inline __device__ void mbarrier_init(mbarrier* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

/// By the thread that has initialised barriers: TMA and the other blocks of the cluster will see them so, after the
/// __syncthreads or cluster_sync that must follow.
inline __device__ void mbarrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// Arrives at a barrier of this block.
inline __device__ void mbarrier_arrive(mbarrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/// Arrives at the same barrier of the cluster's block `rank`. Orders nothing but the thread's own block: release at the
/// scope of the cluster would wait for all its memory accesses, which a stage that TMA and wgmma alone touch need not.
inline __device__ void mbarrier_arrive_at(mbarrier* barrier, unsigned rank) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

/// Arrives, and announces bytes that TMA will bring: the phase awaits them too.
inline __device__ void mbarrier_expect_bytes(mbarrier* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

/// Whether the phase of this parity has ended; may wait for a short time that the system limits.
inline __device__ bool mbarrier_try_wait(mbarrier* barrier, unsigned parity) {
  unsigned ended;
  asm volatile(
      "{\n .reg .pred ended;\n mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
      " selp.u32 %0, 1, 0, ended;\n}"
      : "=r"(ended)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return ended != 0;
}

/// Waits for the end of the phase of this parity. A wrong count of arrivals waits for ever: while a kernel is being
/// written, `#define AK_MBARRIER_TRIES 1000000` before the include makes that a trap.
inline __device__ void mbarrier_wait(mbarrier* barrier, unsigned parity) {
#ifdef AK_MBARRIER_TRIES
  for (int tries = 0; !mbarrier_try_wait(barrier, parity); ++tries) {
    if (tries == AK_MBARRIER_TRIES) __trap();
  }
#else
  while (!mbarrier_try_wait(barrier, parity)) {
  }
#endif
}

/// This block's number within its cluster.
inline __device__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// A barrier of all threads of the cluster's blocks; shared memory written before is seen after it.
inline __device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

}  // namespace ak
