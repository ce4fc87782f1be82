#include "autokernel/device/cpu/grid_runner.h"

#include <immintrin.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "autokernel/device/cpu/futex.h"

namespace ak::cpu {
namespace {

constexpr unsigned kNextBits = 40;
constexpr std::uint64_t kNextMask = (1ull << kNextBits) - 1;
constexpr int kSpins = 2000;             // about 30 us
constexpr std::uint64_t kMaxChunk = 64;  // blocks claimed at once
constexpr std::uint64_t kChunksPerThread = 8;

std::uint64_t claim_word(std::uint32_t generation) {
  return static_cast<std::uint64_t>(generation & 0xFFFFFFu) << kNextBits;
}

}  // namespace

Result<std::unique_ptr<GridRunner>> GridRunner::create(std::uint32_t threads, BlockRunner::FaultSink sink,
                                                       std::function<void()> on_start) {
  std::unique_ptr<GridRunner> pool(new GridRunner());
  const std::uint32_t count = std::max(threads, 1u);
  for (std::uint32_t i = 0; i < count; ++i) pool->runners_.push_back(std::make_unique<BlockRunner>(sink));
  pool->bound_generation_.resize(count, 0);
  for (std::uint32_t i = 1; i < count; ++i) {
    try {
      pool->helpers_.emplace_back([raw = pool.get(), i, on_start] { raw->helper_main(i, on_start); });
    } catch (const std::system_error& error) {
      return environment_error("cannot start thread {} of {}: {}", i, count, error.what());
    }
  }
  return pool;
}

GridRunner::~GridRunner() {
  dispatch(Job::kQuit, 0);
  futex_wake_all(generation_);
  for (std::thread& helper : helpers_) helper.join();
}

Status GridRunner::reserve(const RunnerNeeds& needs) {
  for (auto& runner : runners_) AK_TRY_VOID(runner->reserve(needs));
  return {};
}

void GridRunner::enable_checks(const MemoryMap* memory) {
  for (auto& runner : runners_) runner->enable_checks(memory);
}

void GridRunner::unbind() {
  for (auto& runner : runners_) runner->unbind();
}

void GridRunner::scrub() {
  for (auto& runner : runners_) runner->scrub();
}

/// Publishes a job; helpers may claim from here on.
void GridRunner::dispatch(Job job, std::uint64_t total) {
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
  // Closed first: a helper that read the last claim must not pair it with the new total.
  claim_.store(claim_word(generation) | kNextMask, std::memory_order_seq_cst);
  job_.store(job, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  total_.store(total, std::memory_order_release);
  const std::uint64_t even = total / (threads() * kChunksPerThread);
  chunk_.store(job == Job::kBlocks ? std::clamp<std::uint64_t>(even, 1, kMaxChunk) : 1,
               std::memory_order_relaxed);
  claim_.store(claim_word(generation), std::memory_order_release);
  generation_.store(generation, std::memory_order_seq_cst);
  if (total > 1 && sleepers_.load(std::memory_order_seq_cst) > 0) futex_wake_all(generation_);
}

void GridRunner::helper_main(std::uint32_t worker, const std::function<void()>& on_start) {
  if (on_start) on_start();
  std::uint32_t seen = 0;
  for (;;) {
    std::uint32_t now = generation_.load(std::memory_order_acquire);
    for (int i = 0; now == seen && in_batch_.load(std::memory_order_relaxed) && i < kSpins; ++i) {
      _mm_pause();
      now = generation_.load(std::memory_order_acquire);
    }
    if (now == seen) {
      sleepers_.fetch_add(1, std::memory_order_seq_cst);
      futex_wait(generation_, seen);
      sleepers_.fetch_sub(1, std::memory_order_relaxed);
      continue;
    }
    seen = now;
    if (job_.load(std::memory_order_relaxed) == Job::kQuit) return;
    take_part(worker);
  }
}

void GridRunner::take_part(std::uint32_t worker) {
  for (;;) {
    std::uint64_t claim = claim_.load(std::memory_order_acquire);
    const std::uint64_t total = total_.load(std::memory_order_acquire);
    const std::uint64_t chunk = chunk_.load(std::memory_order_relaxed);
    const std::uint64_t next = claim & kNextMask;
    if (next >= total) return;
    const std::uint64_t count = std::min(chunk, total - next);
    // Success proves that total and chunk belong to this generation.
    if (!claim_.compare_exchange_strong(claim, claim + count, std::memory_order_acq_rel)) continue;
    work(worker, static_cast<std::uint32_t>(claim >> kNextBits), next, count);
    const std::uint64_t finished = finished_.fetch_add(count, std::memory_order_seq_cst) + count;
    if (finished == total && caller_sleeps_.load(std::memory_order_seq_cst)) {
      done_word_.fetch_add(1, std::memory_order_release);
      futex_wake_all(done_word_);
    }
  }
}

void GridRunner::note_fault(const FaultRecord& record) {
  if (!faulted_.exchange(true, std::memory_order_acq_rel)) fault_ = record;
}

void GridRunner::work(std::uint32_t worker, std::uint32_t generation, std::uint64_t first,
                      std::uint64_t count) {
  const Job job = job_.load(std::memory_order_relaxed);
  if (job == Job::kTask) return (*task_)(worker);
  if (faulted_.load(std::memory_order_relaxed)) return;
  BlockRunner& runner = *runners_[worker];
  if (bound_generation_[worker] != generation) {
    bound_generation_[worker] = generation;
    runner.bind(*module_);
    runner.begin_launch(*launch_);
  }
  if (job == Job::kResident) {
    if (auto fault = runner.run_resident(first, threads(), grid_)) note_fault(*fault);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    if (auto fault = runner.run_block(first + i)) return note_fault(*fault);
  }
}

void GridRunner::wait_all() {
  const std::uint64_t total = total_.load(std::memory_order_relaxed);
  for (int i = 0; i < kSpins; ++i) {
    if (finished_.load(std::memory_order_acquire) == total) return;
    _mm_pause();
  }
  caller_sleeps_.store(true, std::memory_order_seq_cst);
  for (;;) {
    const std::uint32_t word = done_word_.load(std::memory_order_acquire);
    if (finished_.load(std::memory_order_seq_cst) == total) break;
    futex_wait(done_word_, word);
  }
  caller_sleeps_.store(false, std::memory_order_relaxed);
}

std::optional<FaultRecord> GridRunner::run(const KernelLaunch& launch) {
  launch_ = &launch;
  module_ = launch.module;
  faulted_.store(false, std::memory_order_relaxed);
  fault_.reset();
  if (launch.cooperative && launch.as_fibers()) {
    grid_.reset(static_cast<std::uint32_t>(launch.blocks()));
    dispatch(Job::kResident, threads());  // a claim is a share: blocks first, first + threads, ...
  } else {
    dispatch(Job::kBlocks, launch.blocks());
  }
  take_part(0);
  wait_all();
  return fault_;
}

namespace {

/// Makes every thread run a job once: each claim waits until all have been claimed.
class Rendezvous {
 public:
  explicit Rendezvous(std::uint32_t count) : missing_(count) {}
  void arrive_and_wait() {
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      futex_wake_all(missing_);
      return;
    }
    for (std::uint32_t left; (left = missing_.load(std::memory_order_acquire)) != 0;)
      futex_wait(missing_, left);
  }

 private:
  std::atomic<std::uint32_t> missing_;
};

}  // namespace

void GridRunner::bind(const LoadedModule& module) {
  on_each_thread([&](std::uint32_t worker) { runners_[worker]->bind(module); });
}

void GridRunner::on_each_thread(const std::function<void(std::uint32_t)>& task) {
  Rendezvous all(threads());
  const std::function<void(std::uint32_t)> once = [&](std::uint32_t worker) {
    task(worker);
    all.arrive_and_wait();
  };
  task_ = &once;
  dispatch(Job::kTask, threads());
  take_part(0);
  wait_all();
}

}  // namespace ak::cpu
