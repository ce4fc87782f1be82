// Where threads of a block wait for each other: barriers, warp exchanges, grid barriers, yields.

#include <sched.h>

#include <bit>
#include <cstring>

#include "autokernel/device/cpu/block_runner.h"
#include "autokernel/device/cpu/checked_access.h"

namespace ak::cpu {
namespace {

// A spin-wait gains nothing from switching at every turn, an atomic without a spin nothing at all.
constexpr std::uint32_t kYieldsPerSwitch = 32;
constexpr std::uint32_t kYieldsPerRotation = 32 * 64;

}  // namespace

void BlockRunner::flush_checks() {
  if (!checking_) return;
  if (auto record = checker_->flush(current_)) fail(*record);
}

/// Checked builds: all threads must meet at one barrier. `site` null: the current thread exits while others
/// wait.
void BlockRunner::check_barrier_site(const void* site) {
  ResidentBlock& block = *block_;
  if (block.barrier_count == 0 && block.exited_count == 0) {
    block.barrier_site = site;
    block.barrier_thread = current_;
    return;
  }
  FaultRecord record;
  record.kind = RecordKind::kDivergentBarrier;
  record.pc = module_offset(site);
  record.wait = site == nullptr ? Wait::kExited : Wait::kBarrier;
  if (block.barrier_count > 0) {
    if (site == block.barrier_site) return;
    record.other_wait = Wait::kBarrier;
    record.other_pc = module_offset(block.barrier_site);
    record.other_thread = launch_->thread_at(block.barrier_thread);
  } else {
    const int gone = block.exited.next_after(block.threads - 1, block.threads);
    record.other_wait = Wait::kExited;
    record.other_thread = launch_->thread_at(static_cast<std::uint32_t>(gone));
  }
  fail(record);
}

int BlockRunner::barrier_count(int predicate, const void* site) {
  if (!as_fibers_) return predicate != 0;
  ResidentBlock& block = *block_;
  if (checking_) {
    flush_checks();
    check_barrier_site(site);
  }
  block.site[current_] = site;
  block.predicate_sum += predicate != 0;
  ++block.barrier_count;
  if (block.barrier_count + block.exited_count == block.threads) {
    release_barrier();
    return block.predicate_result;  // the last to arrive goes on at once
  }
  block.ready.remove(current_);
  block.at_barrier.add(current_);
  suspend();
  return block.predicate_result;
}

void BlockRunner::release_barrier() {
  ResidentBlock& block = *block_;
  block.ready.add_all(block.at_barrier);
  block.at_barrier.clear();
  block.barrier_count = 0;
  block.predicate_result = block.predicate_sum;
  block.predicate_sum = 0;
  if (checking_) checker_->barrier_released();
}

bool BlockRunner::warp_complete(std::uint32_t warp, std::uint32_t mask) const {
  const Warp& state = block_->warps[warp];
  const std::uint32_t live = mask & block_->live_lanes(warp);
  if ((state.waiting & live) != live) return false;
  for (std::uint32_t rest = live; rest != 0; rest &= rest - 1) {
    if (state.mask[static_cast<std::uint32_t>(std::countr_zero(rest))] != mask) return false;
  }
  return true;
}

void BlockRunner::release_warp(std::uint32_t warp, std::uint32_t lanes) {
  Warp& state = block_->warps[warp];
  std::uint64_t values[kWarpSize] = {};
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    values[lane] = state.value[lane];
  }
  // Written for each lane now: another group of this warp may exchange again before all of these lanes run.
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    state.mask[lane] = lanes;
    if (state.out[lane] != nullptr) std::memcpy(state.out[lane], values, sizeof(values));
  }
  state.waiting &= ~lanes;
  block_->ready.add_warp(warp, lanes);
  if (checking_) checker_->warp_released(warp, lanes);
}

/// After an exit: groups that waited for the exited lane alone.
void BlockRunner::release_complete_warps(std::uint32_t warp) {
  Warp& state = block_->warps[warp];
  for (std::uint32_t rest = state.waiting; rest != 0;) {
    const std::uint32_t mask = state.mask[static_cast<std::uint32_t>(std::countr_zero(rest))];
    rest &= ~mask & (rest - 1);
    if (warp_complete(warp, mask)) release_warp(warp, mask & block_->live_lanes(warp));
  }
}

std::uint32_t BlockRunner::warp_exchange(std::uint32_t mask, std::uint64_t value, std::uint64_t* values,
                                         const void* site) {
  const std::uint32_t warp = current_ / kWarpSize, lane = current_ % kWarpSize;
  if (!as_fibers_) return 1;
  flush_checks();
  ResidentBlock& block = *block_;
  Warp& state = block.warps[warp];
  mask |= 1u << lane;
  state.mask[lane] = mask;
  state.value[lane] = value;
  state.out[lane] = values;
  state.waiting |= 1u << lane;
  block.site[current_] = site;
  if (warp_complete(warp, mask)) {
    release_warp(warp, mask & block.live_lanes(warp));
    return state.mask[lane];
  }
  block.ready.remove(current_);
  suspend();
  return state.mask[lane];
}

/// "Who is here with me" is answered when no thread of the block can run on without the answer: then all
/// lanes that will come to this call have come.
std::uint32_t BlockRunner::active_mask(const void* site) {
  if (!as_fibers_) return 1;
  flush_checks();
  ResidentBlock& block = *block_;
  block.site[current_] = site;
  block.ready.remove(current_);
  block.at_active_mask.add(current_);
  ++block.active_mask_count;
  suspend();
  return block.active_mask[current_];
}

bool BlockRunner::resolve_active_masks() {
  ResidentBlock& block = *block_;
  if (block.active_mask_count == 0) return false;
  for (std::uint32_t warp = 0; warp * kWarpSize < block.threads; ++warp) {
    std::uint32_t rest = block.at_active_mask.warp(warp);
    while (rest != 0) {
      const std::uint32_t base = warp * kWarpSize;
      const void* site = block.site[base + static_cast<std::uint32_t>(std::countr_zero(rest))];
      std::uint32_t group = 0;
      for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
        if (((rest >> lane) & 1) != 0 && block.site[base + lane] == site) group |= 1u << lane;
      }
      for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
        if (((group >> lane) & 1) != 0) block.active_mask[base + lane] = group;
      }
      block.ready.add_warp(warp, group);
      rest &= ~group;
    }
  }
  block.at_active_mask.clear();
  block.active_mask_count = 0;
  return true;
}

void BlockRunner::arrive_at_grid() {
  block_->arrived_at_grid = true;
  block_->grid_generation = grid_->arrive();
}

void BlockRunner::grid_barrier(const void* site) {
  flush_checks();
  if (grid_ == nullptr) {
    FaultRecord record;
    record.kind = RecordKind::kUnsupported;
    record.pc = module_offset(site);
    std::strncpy(record.note, "a grid barrier needs a cooperative launch", sizeof(record.note) - 1);
    fail(record);
  }
  ResidentBlock& block = *block_;
  block.site[current_] = site;
  block.ready.remove(current_);
  block.at_grid.add(current_);
  ++block.grid_count;
  if (block.grid_count + block.exited_count == block.threads) arrive_at_grid();
  suspend();
}

void BlockRunner::yield() {
  // The module's own functions (builtins, shared_range) are instrumented too and run on no fiber.
  const bool on_fiber = as_fibers_ && &switch_.running() != &switch_.main();
  if (!on_fiber || ++yields_ % kYieldsPerSwitch != 0) return;
  flush_checks();
  if (yields_ % kYieldsPerRotation == 0) {
    // What is waited for may happen in another block: of this OS thread, or of another one that wants the
    // core.
    if (grid_ != nullptr) {
      switch_.jump(switch_.main());
      return;
    }
    ::sched_yield();
  }
  suspend();
}

void BlockRunner::trap(const void* site) {
  FaultRecord record;
  record.kind = RecordKind::kTrap;
  record.pc = module_offset(site);
  fail(record);
}

FaultRecord BlockRunner::deadlock_record() const {
  const ResidentBlock& block = *block_;
  FaultRecord record;
  record.kind = RecordKind::kDeadlock;
  record.thread_known = 1;
  bool found = false;
  std::uint32_t first = 0;
  for (std::uint32_t thread = 0; thread < block.threads; ++thread) {
    const Wait wait = block.wait_of(thread);
    if (wait == Wait::kExited || wait == Wait::kNone) continue;
    if (!found) {
      found = true;
      first = thread;
      record.wait = wait;
      record.pc = module_offset(block.site[thread]);
      record.thread = launch_->thread_at(thread);
    } else if (wait != record.wait || block.site[thread] != block.site[first]) {
      record.other_wait = wait;
      record.other_pc = module_offset(block.site[thread]);
      record.other_thread = launch_->thread_at(thread);
      break;
    }
  }
  return record;
}

}  // namespace ak::cpu
