#pragma once
// Runs whole launches: a pool of OS threads, the calling one included, that take blocks in order. Used by the
// jail for candidates and by the runner for trusted kernels.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/device/cpu/block_runner.h"

namespace ak::cpu {

class GridRunner {
 public:
  /// `on_start` runs first on every new thread (the jail's signal stack). All calls come from the creating
  /// thread.
  static Result<std::unique_ptr<GridRunner>> create(std::uint32_t threads, BlockRunner::FaultSink sink,
                                                    std::function<void()> on_start = {});
  ~GridRunner();
  GridRunner(const GridRunner&) = delete;
  GridRunner& operator=(const GridRunner&) = delete;

  std::uint32_t threads() const { return static_cast<std::uint32_t>(runners_.size()); }
  Status reserve(const RunnerNeeds& needs);
  void enable_checks(const MemoryMap* memory);
  /// On all threads: touches the module's thread-local storage. Needed once before a module's first launch
  /// when allocations are impossible later.
  void bind(const LoadedModule& module);
  void unbind();  ///< before a bound module is closed
  /// The launch must be covered by what was reserved.
  std::optional<FaultRecord> run(const KernelLaunch& launch);
  void scrub();
  /// Once on every thread, with its number.
  void on_each_thread(const std::function<void(std::uint32_t)>& task);

  /// While a batch lasts the helpers poll for a moment before they sleep.
  void begin_batch() { in_batch_.store(true, std::memory_order_relaxed); }
  void end_batch() { in_batch_.store(false, std::memory_order_relaxed); }

 private:
  enum class Job : std::uint32_t { kBlocks, kResident, kTask, kQuit };
  GridRunner() = default;
  void helper_main(std::uint32_t worker, const std::function<void()>& on_start);
  void dispatch(Job job, std::uint64_t total);
  void take_part(std::uint32_t worker);
  /// `generation` is the claim's own: a helper still busy with the last launch may claim of the next one
  /// before generation_ is published.
  void work(std::uint32_t worker, std::uint32_t generation, std::uint64_t first, std::uint64_t count);
  void wait_all();
  void note_fault(const FaultRecord& record);

  std::vector<std::unique_ptr<BlockRunner>> runners_;
  std::vector<std::thread> helpers_;
  std::vector<std::uint32_t> bound_generation_;  // per worker: launch for which begin_launch ran

  // What is being done. Written while no claim of the new generation exists, so a helper that comes late
  // reads stale values only until its claim fails.
  const KernelLaunch* launch_ = nullptr;
  const LoadedModule* module_ = nullptr;
  const std::function<void(std::uint32_t)>* task_ = nullptr;
  std::atomic<Job> job_{Job::kBlocks};
  std::atomic<std::uint64_t> total_{0}, chunk_{1};
  std::atomic<std::uint32_t> generation_{0};  // futex word of the helpers
  std::atomic<std::uint64_t> claim_{0};       // generation (24 bits), next block (40 bits)
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint32_t> done_word_{0};  // futex word of the caller
  std::atomic<bool> caller_sleeps_{false};
  std::atomic<bool> in_batch_{false};
  std::atomic<std::uint32_t> sleepers_{0};
  GridSync grid_;
  std::atomic<bool> faulted_{false};
  std::optional<FaultRecord> fault_;  // of the thread that set faulted_
};

}  // namespace ak::cpu
