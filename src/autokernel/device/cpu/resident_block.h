#pragma once
// The state of one block whose threads are being run: who is ready, who waits for what.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "autokernel/device/cpu/fault_record.h"
#include "autokernel/device/cpu/fiber.h"
#include "autokernel/device/cpu/thread_set.h"

namespace ak::cpu {

struct Warp {
  std::uint32_t waiting = 0;
  std::array<std::uint32_t, kWarpSize> mask{};  ///< of the waiting lanes; after the release: who took part
  std::array<std::uint64_t, kWarpSize> value{};
  std::array<std::uint64_t*, kWarpSize> out{};  ///< where the lane wants the values; null: a barrier alone
};

struct ResidentBlock {
  std::uint32_t slot = 0;
  std::uint64_t index = 0;
  AkDim3 coordinates{};
  std::uint32_t threads = 0;

  ThreadSet ready, at_barrier, at_grid, at_active_mask, exited;
  std::uint32_t barrier_count = 0, grid_count = 0, active_mask_count = 0, exited_count = 0;
  std::int32_t predicate_sum = 0, predicate_result = 0;
  std::uint32_t grid_generation = 0;  ///< of the grid barrier that the whole block waits at
  bool arrived_at_grid = false;
  bool counted_as_finished = false;

  const void* barrier_site = nullptr;  ///< of the first thread that waits at the barrier (checked builds)
  std::uint32_t barrier_thread = 0;

  std::vector<Fiber*> fiber;               ///< per thread; null: not started
  std::vector<const void*> site;           ///< per thread: return address of the call it waits in
  std::vector<std::uint32_t> active_mask;  ///< per thread: the answer
  std::vector<Warp> warps;
  std::byte* dynamic_shared = nullptr;
  std::vector<std::byte> saved_static;  ///< static shared memory while another block runs

  /// Allocates for blocks of up to `max_threads`.
  void reserve(std::uint32_t max_threads) {
    fiber.resize(max_threads);
    site.resize(max_threads);
    active_mask.resize(max_threads);
    warps.resize((max_threads + kWarpSize - 1) / kWarpSize);
  }

  void start(std::uint64_t block_index, AkDim3 at, std::uint32_t thread_count) {
    index = block_index;
    coordinates = at;
    threads = thread_count;
    ready = ThreadSet::first(thread_count);
    at_barrier.clear();
    at_grid.clear();
    at_active_mask.clear();
    exited.clear();
    barrier_count = grid_count = active_mask_count = exited_count = 0;
    predicate_sum = 0;
    arrived_at_grid = counted_as_finished = false;
    for (std::uint32_t i = 0; i < thread_count; ++i) fiber[i] = nullptr;
    for (std::uint32_t w = 0; w * kWarpSize < thread_count; ++w) warps[w].waiting = 0;
  }

  bool finished() const { return exited_count == threads; }
  /// Lanes of a warp that exist and have not exited.
  std::uint32_t live_lanes(std::uint32_t warp) const {
    const std::uint32_t begin = warp * kWarpSize;
    const std::uint32_t count = threads - begin;
    const std::uint32_t existing = count >= kWarpSize ? ~0u : (1u << count) - 1;
    return existing & ~exited.warp(warp);
  }
  Wait wait_of(std::uint32_t thread) const {
    if (exited.has(thread)) return Wait::kExited;
    if (at_barrier.has(thread)) return Wait::kBarrier;
    if (at_grid.has(thread)) return Wait::kGrid;
    if ((warps[thread / kWarpSize].waiting >> (thread % kWarpSize)) & 1) return Wait::kWarp;
    return Wait::kNone;
  }
};

}  // namespace ak::cpu
