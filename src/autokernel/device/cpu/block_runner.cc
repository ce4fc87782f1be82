#include "autokernel/device/cpu/block_runner.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "autokernel/device/cpu/checked_access.h"

namespace ak::cpu {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSharedAlignment = 1024;
constexpr std::size_t kScrubbedStackBytes = 2048;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// The only way from a module's call back to its runner; abi.h's functions carry no context.
thread_local BlockRunner* t_runner __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

BlockRunner* current_runner() { return t_runner; }

BlockRunner::BlockRunner(FaultSink sink) : sink_(sink), switch_(&BlockRunner::fiber_entry, this) {}

BlockRunner::~BlockRunner() {
  if (t_runner == this) t_runner = nullptr;
  for (Fiber& fiber : fibers_) FiberSwitch::discard(fiber);
  FiberSwitch::discard(loop_fiber_);
  if (shared_base_ != nullptr) ::munmap(shared_base_, shared_map_bytes_);
}

Status BlockRunner::reserve(const RunnerNeeds& needs) {
  if (reserved_.covers(needs) && loop_fiber_.context != nullptr) return {};
  RunnerNeeds grown = reserved_;
  grown.include(needs);
  if (loop_fiber_.context == nullptr) {
    AK_TRY(loop, FiberStacks::create(1, kLoopStackBytes));
    loop_stack_ = std::move(loop);
  }
  if (grown.fibers > stacks_.count()) {
    AK_TRY(stacks, FiberStacks::create(grown.fibers, kStackBytes));
    stacks_ = std::move(stacks);
  }
  const std::size_t shared = grown.resident_blocks * round_up(grown.shared_bytes, kSharedAlignment);
  const std::size_t map_bytes = round_up(shared, kPage) + 2 * kPage;
  if (map_bytes > shared_map_bytes_) {
    if (shared_base_ != nullptr) ::munmap(shared_base_, shared_map_bytes_);
    shared_base_ = nullptr;
    void* base = ::mmap(nullptr, map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED || ::mprotect(static_cast<std::byte*>(base) + kPage, map_bytes - 2 * kPage,
                                         PROT_READ | PROT_WRITE) != 0) {
      return environment_error("cannot map {} bytes of shared memory: {}", map_bytes, std::strerror(errno));
    }
    shared_base_ = static_cast<std::byte*>(base);
    shared_map_bytes_ = map_bytes;
    std::memset(shared_base_ + kPage, 0, map_bytes - 2 * kPage);
  }
  blocks_.resize(std::max<std::size_t>(blocks_.size(), grown.resident_blocks));
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].slot = static_cast<std::uint32_t>(i);
    blocks_[i].reserve(grown.threads);
  }
  fibers_.resize(stacks_.count());
  free_.reserve(fibers_.size());
  thread_indices_.resize(std::max<std::size_t>(thread_indices_.size(), grown.threads));
  reserved_ = grown;
  block_ = static_owner_ = nullptr;
  checker_.reset();
  reset_fibers();
  return {};
}

void BlockRunner::reset_fibers() {
  free_.clear();
  for (std::size_t i = fibers_.size(); i-- > 0;) {
    fibers_[i].context = nullptr;  // made at its first use: writing to 1024 stacks costs as many page faults
#if defined(__SANITIZE_THREAD__)
    prepare_fiber(fibers_[i]);  // allocates, which a closed jail cannot
#endif
    free_.push_back(&fibers_[i]);  // fiber 0 is the first to be taken
  }
  switch_.prepare(loop_fiber_, loop_stack_.top(0), loop_stack_.usable_bytes(0));
}

void BlockRunner::prepare_fiber(Fiber& fiber) {
  const auto index = static_cast<std::size_t>(&fiber - fibers_.data());
  switch_.prepare(fiber, stacks_.top(index), stacks_.usable_bytes(index));
}

void BlockRunner::bind(const LoadedModule& module) {
  t_runner = this;
  switch_.attach_thread();
  module_ = &module;
  builtins_ = module.module->builtins();
  void* begin = nullptr;
  static_bytes_ = 0;
  module.module->shared_range(&begin, &static_bytes_);
  static_begin_ = static_cast<std::byte*>(begin);
  static_owner_ = nullptr;
  checking_ = module.checked && memory_ != nullptr;
  if (checking_ && (checker_ == nullptr || !checker_->covers(static_bytes_))) {
    checker_ = std::make_unique<AccessChecker>(
        *memory_, AccessChecker::Capacity{reserved_.resident_blocks, reserved_.shared_bytes, static_bytes_,
                                          reserved_.threads});
  }
  if (checking_) {
    checker_->set_module(module.base, module.end);
    checker_->allow(stacks_.begin(), stacks_.end());
    checker_->allow(loop_stack_.begin(), loop_stack_.end());
    checker_->allow(reinterpret_cast<std::uintptr_t>(builtins_),
                    reinterpret_cast<std::uintptr_t>(builtins_) + sizeof(AkBuiltins));
    checker_->set_static(static_begin_, static_bytes_);
  }
  if (reserved_.resident_blocks > 1) {
    for (ResidentBlock& block : blocks_) block.saved_static.resize(static_bytes_);
  }
}

void BlockRunner::begin_launch(const KernelLaunch& launch) {
  launch_ = &launch;
  as_fibers_ = launch.as_fibers();
  builtins_->block_dim = launch.block;
  builtins_->grid_dim = launch.grid;
  const std::uint32_t threads = launch.threads();
  if (std::memcmp(&indexed_block_, &launch.block, sizeof(AkDim3)) != 0) {
    for (std::uint32_t i = 0; i < threads; ++i) thread_indices_[i] = launch.thread_at(i);
    indexed_block_ = launch.block;
  }
  // The end of dynamic shared memory lies at the guard page.
  std::byte* end = shared_base_ + shared_map_bytes_ - kPage;
  const std::size_t stride = round_up(launch.shared_bytes, kSharedAlignment);
  for (ResidentBlock& block : blocks_) {
    block.dynamic_shared = end - std::min((block.slot + 1) * stride, shared_map_bytes_ - 2 * kPage);
  }
  block_ = nullptr;
}

void BlockRunner::start_block(ResidentBlock& block, std::uint64_t index) {
  block.start(index, launch_->block_at(index), launch_->threads());
  if (checking_) checker_->start_block(block.slot, block.dynamic_shared, launch_->shared_bytes);
}

void BlockRunner::select_block(ResidentBlock& block) {
  if (block_ == &block) return;
  if (grid_ != nullptr && static_bytes_ > 0 && static_owner_ != &block) {
    if (static_owner_ != nullptr)
      std::memcpy(static_owner_->saved_static.data(), static_begin_, static_bytes_);
    std::memcpy(static_begin_, block.saved_static.data(), static_bytes_);
    static_owner_ = &block;
  }
  block_ = &block;
  current_ = block.threads - 1;  // so that the next one is thread 0
  builtins_->block_idx = block.coordinates;
  if (checking_) checker_->select_block(block.slot);
}

std::optional<FaultRecord> BlockRunner::run_block(std::uint64_t index) {
  grid_ = nullptr;
  start_block(blocks_[0], index);
  block_ = nullptr;
  select_block(blocks_[0]);
  if (!as_fibers_) {
    builtins_->thread_idx = {0, 0, 0};
    switch_.jump(loop_fiber_);
    return take_fault();
  }
  for (;;) {
    const int next = block_->ready.next_after(current_, block_->threads);
    if (next >= 0) {
      enter(static_cast<std::uint32_t>(next));
    } else if (block_->finished()) {
      return std::nullopt;
    } else if (!resolve_active_masks()) {
      raise(deadlock_record());
    }
    if (fault_) return take_fault();
  }
}

/// One turn of a block of a cooperative launch. False when it could do nothing.
bool BlockRunner::advance_resident(ResidentBlock& block, GridSync& grid) {
  if (block.arrived_at_grid) {
    if (grid.generation() == block.grid_generation) return false;
    block.arrived_at_grid = false;
    block.ready.add_all(block.at_grid);
    block.at_grid.clear();
    block.grid_count = 0;
    select_block(block);
    if (checking_) checker_->barrier_released();
  }
  select_block(block);
  const int next = block.ready.next_after(current_, block.threads);
  if (next >= 0) {
    enter(static_cast<std::uint32_t>(next));
  } else if (block.finished()) {
    block.counted_as_finished = true;
    grid.finish();
  } else if (!resolve_active_masks()) {
    raise(deadlock_record());
  }
  return true;
}

std::optional<FaultRecord> BlockRunner::run_resident(std::uint64_t first, std::uint64_t step,
                                                     GridSync& grid) {
  grid_ = &grid;
  block_ = static_owner_ = nullptr;
  std::size_t count = 0;
  for (std::uint64_t index = first; index < launch_->blocks(); index += step) {
    start_block(blocks_[count++], index);
  }
  std::size_t unfinished = count;
  while (unfinished > 0) {
    bool progress = false;
    for (std::size_t i = 0; i < count; ++i) {
      if (blocks_[i].counted_as_finished) continue;
      progress |= advance_resident(blocks_[i], grid);
      if (fault_) {
        grid.abort();
        return take_fault();
      }
      if (blocks_[i].counted_as_finished) --unfinished;
    }
    if (grid.aborted()) {
      reset_fibers();
      return std::nullopt;
    }
    if (!progress) ::sched_yield();
  }
  return std::nullopt;
}

std::optional<FaultRecord> BlockRunner::take_fault() {
  std::optional<FaultRecord> fault;
  fault.swap(fault_);
  if (fault) reset_fibers();
  return fault;
}

void BlockRunner::fiber_entry(void* self) { static_cast<BlockRunner*>(self)->fiber_loop(); }

void BlockRunner::fiber_loop() {
  for (;;) {
    if (as_fibers_) {
      launch_->entry->thread(launch_->params);
      finish_thread();
    } else {
      launch_->entry->block(launch_->params);
      switch_.jump(switch_.main());
    }
  }
}

void BlockRunner::set_current(std::uint32_t thread) {
  current_ = thread;
  builtins_->thread_idx = thread_indices_[thread];
}

void BlockRunner::enter(std::uint32_t thread) {
  set_current(thread);
  Fiber*& fiber = block_->fiber[thread];
  if (fiber == nullptr) {
    fiber = free_.back();
    free_.pop_back();
    if (fiber->context == nullptr) prepare_fiber(*fiber);
  }
  switch_.jump(*fiber);
}

void BlockRunner::suspend() {
  const int next = block_->ready.next_after(current_, block_->threads);
  if (next == static_cast<int>(current_)) return;
  if (next < 0) {
    switch_.jump(switch_.main());
  } else {
    enter(static_cast<std::uint32_t>(next));
  }
}

/// The current thread has returned from the kernel. Comes back when this fiber has another thread to start.
void BlockRunner::finish_thread() {
  flush_checks();
  ResidentBlock& block = *block_;
  block.ready.remove(current_);
  block.exited.add(current_);
  ++block.exited_count;
  if (block.barrier_count > 0) {
    if (checking_) check_barrier_site(nullptr);
    if (block.barrier_count + block.exited_count == block.threads) release_barrier();
  }
  if (block.warps[current_ / kWarpSize].waiting != 0) release_complete_warps(current_ / kWarpSize);
  if (block.grid_count > 0 && block.grid_count + block.exited_count == block.threads) arrive_at_grid();

  const int next = block.ready.next_after(current_, block.threads);
  if (next >= 0 && block.fiber[next] == nullptr) {
    block.fiber[next] = &switch_.running();
    set_current(static_cast<std::uint32_t>(next));
    return;
  }
  free_.push_back(&switch_.running());
  if (next < 0) {
    switch_.jump(switch_.main());
  } else {
    enter(static_cast<std::uint32_t>(next));
  }
}

void BlockRunner::raise(FaultRecord record) {
  describe(record);
  fault_ = record;
  if (sink_.function != nullptr) sink_.function(sink_.argument, record);
}

void BlockRunner::fail(FaultRecord record) {
  raise(record);
  switch_.jump(switch_.main());
  std::abort();  // an abandoned fiber is never resumed
}

void BlockRunner::describe(FaultRecord& record) const {
  if (block_ == nullptr || launch_ == nullptr) return;
  record.block = block_->coordinates;
  if (record.kind == RecordKind::kRace) {
    record.other_thread = launch_->thread_at(static_cast<std::uint32_t>(record.detail));
  }
  if (record.thread_known == 0 && as_fibers_) {
    record.thread = launch_->thread_at(current_);
    record.thread_known = 1;
  }
}

bool BlockRunner::is_stack_guard(std::uintptr_t address) const {
  return stacks_.is_guard(address) || loop_stack_.is_guard(address);
}

std::uint64_t BlockRunner::module_offset(const void* site) const {
  const auto address = reinterpret_cast<std::uintptr_t>(site);
  if (module_ == nullptr || address < module_->base || address > module_->end) return 0;
  return address - module_->base;
}

void BlockRunner::scrub() {
  constexpr int kRubbish = 0x4E;  // a large number in every type: what adds to it shows
  if (shared_base_ != nullptr) std::memset(shared_base_ + kPage, kRubbish, shared_map_bytes_ - 2 * kPage);
  if (static_begin_ != nullptr) std::memset(static_begin_, kRubbish, static_bytes_);
  for (ResidentBlock& block : blocks_) {
    std::fill(block.saved_static.begin(), block.saved_static.end(), std::byte{kRubbish});
  }
  if (loop_stack_.count() == 0) return;
  // Not under the sanitizers: their idea of these stacks cannot be reset in a closed jail.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  for (std::size_t i = 0; i < fibers_.size(); ++i) {
    if (fibers_[i].context == nullptr) continue;  // unused since the last time
    std::memset(static_cast<std::byte*>(stacks_.top(i)) - kScrubbedStackBytes, kRubbish, kScrubbedStackBytes);
  }
  std::memset(static_cast<std::byte*>(loop_stack_.top(0)) - kLoopStackBytes / 2, kRubbish,
              kLoopStackBytes / 2);
  reset_fibers();
#endif
}

}  // namespace ak::cpu
