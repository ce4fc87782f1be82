#pragma once
// A set of the threads of a block (up to 1024), as a bitmap: the scheduler's whole state is a few of them.

#include <array>
#include <bit>
#include <cstdint>

namespace ak::cpu {

inline constexpr std::uint32_t kMaxThreads = 1024;
inline constexpr std::uint32_t kWarpSize = 32;

class ThreadSet {
 public:
  /// Threads 0 .. count-1.
  static ThreadSet first(std::uint32_t count) {
    ThreadSet set;
    for (std::uint32_t i = 0; i < kWords; ++i) {
      const std::uint32_t begin = i * 64;
      if (count >= begin + 64) {
        set.words_[i] = ~0ull;
      } else if (count > begin) {
        set.words_[i] = (1ull << (count - begin)) - 1;
      }
    }
    return set;
  }
  void add(std::uint32_t thread) { words_[thread / 64] |= 1ull << (thread % 64); }
  void remove(std::uint32_t thread) { words_[thread / 64] &= ~(1ull << (thread % 64)); }
  bool has(std::uint32_t thread) const { return (words_[thread / 64] >> (thread % 64)) & 1; }
  void clear() { words_ = {}; }
  void add_all(const ThreadSet& other) {
    for (std::uint32_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
  }
  void add_warp(std::uint32_t warp, std::uint32_t lanes) {
    words_[warp / 2] |= static_cast<std::uint64_t>(lanes) << (32 * (warp % 2));
  }
  std::uint32_t warp(std::uint32_t index) const {
    return static_cast<std::uint32_t>(words_[index / 2] >> (32 * (index % 2)));
  }

  /// The first member after `thread`, wrapping round, `thread` itself last; -1 when empty. `count` threads
  /// exist.
  int next_after(std::uint32_t thread, std::uint32_t count) const {
    const std::uint32_t words = (count + 63) / 64;
    const std::uint32_t start = thread / 64;
    const std::uint64_t above = thread % 64 == 63 ? 0 : ~0ull << (thread % 64 + 1);
    if (const std::uint64_t rest = words_[start] & above) return bit(start, rest);
    for (std::uint32_t i = 1; i <= words; ++i) {
      const std::uint32_t word = start + i < words ? start + i : start + i - words;
      if (words_[word] != 0) return bit(word, words_[word]);
    }
    return -1;
  }

 private:
  static constexpr std::uint32_t kWords = kMaxThreads / 64;
  static int bit(std::uint32_t word, std::uint64_t bits) {
    return static_cast<int>(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
  }
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace ak::cpu
