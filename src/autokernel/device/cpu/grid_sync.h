#pragma once
// The barrier of a whole grid (cooperative launches): blocks arrive, or finish for good; the last one opens
// it.

#include <atomic>
#include <cstdint>

namespace ak::cpu {

class GridSync {
 public:
  void reset(std::uint32_t blocks) {
    blocks_ = blocks;
    state_.store(0, std::memory_order_relaxed);
    aborted_.store(false, std::memory_order_relaxed);
  }
  /// The generation that the arriving block waits in: it may go on when generation() differs.
  std::uint32_t arrive() { return advance(kArrived); }
  void finish() { advance(kFinished); }
  std::uint32_t generation() const {
    return static_cast<std::uint32_t>(state_.load(std::memory_order_acquire) >> kGenerationShift);
  }
  void abort() { aborted_.store(true, std::memory_order_release); }
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }

 private:
  // One word: arrived (20 bits), finished (20 bits), generation (24 bits).
  static constexpr std::uint64_t kArrived = 1, kFinished = 1ull << 20, kField = (1ull << 20) - 1;
  static constexpr unsigned kGenerationShift = 40;

  std::uint32_t advance(std::uint64_t increment) {
    std::uint64_t old = state_.load(std::memory_order_relaxed);
    for (;;) {
      std::uint64_t next = old + increment;
      const std::uint64_t arrived = next & kField, finished = (next >> 20) & kField;
      if (arrived > 0 && arrived + finished >= blocks_) {
        next = (next & ~kField) + (1ull << kGenerationShift);
      }
      if (state_.compare_exchange_weak(old, next, std::memory_order_acq_rel)) {
        return static_cast<std::uint32_t>(old >> kGenerationShift);
      }
    }
  }
  std::uint32_t blocks_ = 0;
  std::atomic<std::uint64_t> state_{0};
  std::atomic<bool> aborted_{false};
};

}  // namespace ak::cpu
