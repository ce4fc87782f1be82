#pragma once
// Runs the blocks of a launch on one OS thread: each CUDA thread is a fiber that runs to its next barrier,
// or, for kernels that never wait, the whole block is a plain loop. The functions of abi.h end here.

#include <memory>
#include <optional>

#include "autokernel/base/result.h"
#include "autokernel/device/cpu/fault_record.h"
#include "autokernel/device/cpu/fiber.h"
#include "autokernel/device/cpu/grid_sync.h"
#include "autokernel/device/cpu/kernel_launch.h"
#include "autokernel/device/cpu/never_returns.h"
#include "autokernel/device/cpu/resident_block.h"

namespace ak::cpu {

class AccessChecker;
class MemoryMap;

class BlockRunner {
 public:
  static constexpr std::size_t kStackBytes = 64 * 1024;
  static constexpr std::size_t kLoopStackBytes = 1024 * 1024;  ///< a plain loop has one stack only

  /// Called with the record of a fault on the faulting fiber; a jail reports and exits in it. When it returns
  /// (or is null) the launch is abandoned and run() returns the record.
  struct FaultSink {
    void (*function)(void* argument, const FaultRecord& record) = nullptr;
    void* argument = nullptr;
  };

  explicit BlockRunner(FaultSink sink);
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Grows to `needs`; only while nothing runs. `memory` (checked modules) is kept by pointer.
  Status reserve(const RunnerNeeds& needs);
  void enable_checks(const MemoryMap* memory) { memory_ = memory; }

  /// On the OS thread that will run: makes this the runner of abi.h's functions and touches the module's
  /// thread-local storage.
  void bind(const LoadedModule& module);
  /// The module is going away.
  void unbind() { module_ = nullptr, static_begin_ = nullptr, static_bytes_ = 0; }
  /// Sets up what does not change between the blocks of a launch.
  void begin_launch(const KernelLaunch& launch);
  std::optional<FaultRecord> run_block(std::uint64_t index);
  /// Cooperative: runs blocks first, first + step, ... of the launch at once, to their end.
  std::optional<FaultRecord> run_resident(std::uint64_t first, std::uint64_t step, GridSync& grid);
  /// Fills shared memory and the stacks' lower parts with rubbish.
  void scrub();

  // ---- abi.h; `site` is the return address in the module ----
  void barrier(const void* site) { barrier_count(0, site); }
  int barrier_count(int predicate, const void* site);
  std::uint32_t warp_exchange(std::uint32_t mask, std::uint64_t value, std::uint64_t* values,
                              const void* site);
  std::uint32_t active_mask(const void* site);
  void grid_barrier(const void* site);
  void yield();
  void trap(const void* site);
  void* dynamic_shared() const { return block_->dynamic_shared; }
  AccessChecker* checker() { return checking_ ? checker_.get() : nullptr; }
  std::uint32_t current_thread() const { return current_; }

  /// Abandons the launch. Thread, block and module offsets are filled in here. Returns only in so far as it
  /// does not return to the kernel.
  AK_NEVER_RETURNS void fail(FaultRecord record);
  /// For signal handlers: what ran, and whether `address` is a guard of a stack.
  void describe(FaultRecord& record) const;
  /// Of an address in the module's code; 0 elsewhere.
  std::uint64_t module_offset(const void* site) const;
  const LoadedModule* module() const { return module_; }
  bool is_stack_guard(std::uintptr_t address) const;

 private:
  static void fiber_entry(void* self);
  void fiber_loop();
  void enter(std::uint32_t thread);
  void set_current(std::uint32_t thread);
  void suspend();
  void finish_thread();
  void arrive_at_grid();
  void raise(FaultRecord record);
  void release_barrier();
  void release_warp(std::uint32_t warp, std::uint32_t lanes);
  bool warp_complete(std::uint32_t warp, std::uint32_t mask) const;
  void release_complete_warps(std::uint32_t warp);
  bool resolve_active_masks();
  void check_barrier_site(const void* site);
  void flush_checks();
  FaultRecord deadlock_record() const;
  void reset_fibers();
  void prepare_fiber(Fiber& fiber);
  void start_block(ResidentBlock& block, std::uint64_t index);
  void select_block(ResidentBlock& block);
  bool advance_resident(ResidentBlock& block, GridSync& grid);
  std::optional<FaultRecord> take_fault();

  FaultSink sink_;
  FiberSwitch switch_;
  FiberStacks stacks_, loop_stack_;
  std::vector<Fiber> fibers_;
  std::vector<Fiber*> free_;
  Fiber loop_fiber_;
  RunnerNeeds reserved_{0, 0, 0, 0};

  std::vector<ResidentBlock> blocks_;
  ResidentBlock* block_ = nullptr;         ///< whose threads run
  ResidentBlock* static_owner_ = nullptr;  ///< whose static shared memory is in the thread-local storage
  std::uint32_t current_ = 0;
  std::uint32_t yields_ = 0;

  const LoadedModule* module_ = nullptr;
  const KernelLaunch* launch_ = nullptr;
  GridSync* grid_ = nullptr;
  AkBuiltins* builtins_ = nullptr;
  std::byte* static_begin_ = nullptr;
  std::uint64_t static_bytes_ = 0;
  std::vector<AkDim3> thread_indices_;
  AkDim3 indexed_block_{0, 0, 0};
  bool as_fibers_ = false;

  std::byte* shared_base_ = nullptr;  ///< one mapping, guard pages at both ends
  std::size_t shared_map_bytes_ = 0;

  const MemoryMap* memory_ = nullptr;
  std::unique_ptr<AccessChecker> checker_;
  bool checking_ = false;
  std::optional<FaultRecord> fault_;
};

/// The runner of the calling OS thread: abi.h's functions have no other way to find it.
BlockRunner* current_runner();

}  // namespace ak::cpu
