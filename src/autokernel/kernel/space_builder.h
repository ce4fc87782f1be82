#pragma once
// The enumeration behind Space::create: depth first, a rule is asked as soon as its last tunable is bound,
// tunables in an order in which rules are bound early, all problems at once.

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "autokernel/kernel/bound_rule.h"
#include "autokernel/kernel/space.h"

namespace ak::kernel {

struct SpaceLimits {
  /// Looked at in all, partial configs included: about two seconds.
  std::uint64_t max_visited = 150'000'000;
  /// Memory of the valid configs.
  std::uint64_t max_bytes = 1u << 30;
};
/// Different problems of one space.
inline constexpr std::size_t kMaxProblems = 256;

class SpaceBuilder {
 public:
  SpaceBuilder(const KernelFile& file, const DeviceInfo& device, SpaceLimits limits = {})
      : file_(file), device_(device), limits_(limits), table_(file.tunables) {}

  /// Problems that the file cannot run on this device are left out and reported in `skipped`.
  Status add_problems(std::span<const Problem> problems);
  Status enumerate();

  /// Valid configs as mixed-radix numbers (the last tunable is the lowest digit), ascending.
  const std::vector<std::uint64_t>& keys() const { return keys_; }
  std::uint64_t raw_size() const { return raw_size_; }
  std::vector<Space::Pruned> pruned() const { return pruned_; }
  /// Why problems were left out, one line each.
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  using ProblemMask = std::bitset<kMaxProblems>;
  /// A rule with the constants of some problems.
  struct Variant {
    BoundRule rule;
    ProblemMask problems;
  };
  struct Check {
    std::size_t cause;  // index into pruned_
    std::vector<Variant> variants;
  };

  Status count_raw();
  void order_tunables();
  void place_checks();
  /// Asks the checks of one level; counts what they remove from `subtree` configs.
  ProblemMask ask(std::vector<Check>& checks, ProblemMask alive, std::uint64_t subtree);
  void descend(std::size_t level, const ProblemMask& alive, std::uint64_t key);

  const KernelFile& file_;
  const DeviceInfo& device_;
  SpaceLimits limits_;
  TunableTable table_;
  std::vector<Rule> rules_;
  std::vector<Check> checks_;               // in the order of rules_, until they are placed
  std::vector<std::vector<Check>> levels_;  // [0]: no tunables; [i + 1]: after order_[i] is bound
  std::size_t problem_count_ = 0;
  std::vector<std::size_t> order_;       // tunables in the order of binding
  std::vector<std::uint64_t> subtrees_;  // configs below a node of each level
  std::vector<std::uint64_t> weights_;   // of each tunable's digit in a key
  std::vector<std::uint16_t> coordinates_;
  std::vector<std::uint64_t> keys_;
  std::uint64_t raw_size_ = 1;
  std::uint64_t visited_ = 0;
  std::uint64_t max_keys_ = 0;
  std::vector<Space::Pruned> pruned_;
  std::vector<std::string> skipped_;
};

}  // namespace ak::kernel
