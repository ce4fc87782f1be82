#pragma once
// Seeded random numbers with results that are the same on every machine (the distributions of <random> are
// not).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak {

/// xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);
  std::uint64_t next();
  /// Uniform in [0, bound); bound > 0. Without modulo bias.
  std::uint64_t below(std::uint64_t bound);
  double uniform();  ///< in [0, 1)
  double normal();   ///< mean 0, variance 1
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }
  /// Full state as text, for resuming; `restore` fails on anything `state` did not write.
  std::string state() const;
  Status restore(std::string_view state);

 private:
  std::uint64_t s_[4];
};

/// 64 bits from the operating system, for seeds that a candidate must not know.
std::uint64_t secret_seed();

}  // namespace ak
