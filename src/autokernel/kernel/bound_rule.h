#pragma once
// A rule with everything but the tunables folded in, for one problem on one device: names became constants or
// positions of tunables, and answers are remembered, so that a space of a million configs evaluates each rule
// a few hundred times.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/kernel/names.h"
#include "autokernel/kernel/rules.h"

namespace ak::kernel {

/// The tunables' values as integers (strings count as 0: no expression may name them).
class TunableTable {
 public:
  explicit TunableTable(const std::vector<Tunable>& tunables);
  std::size_t size() const { return values_.size(); }
  std::size_t count(std::size_t tunable) const { return values_[tunable].size(); }
  std::int64_t value(std::size_t tunable, std::uint16_t position) const { return values_[tunable][position]; }
  std::optional<std::size_t> find(std::string_view name) const;
  const std::vector<Tunable>& tunables() const { return *tunables_; }

 private:
  const std::vector<Tunable>* tunables_;
  std::vector<std::vector<std::int64_t>> values_;
};

/// An expression with constants folded in.
class BoundExpr {
 public:
  /// Every name must be a tunable or known (check_known).
  BoundExpr(const Expr& expr, const TunableTable& tunables, const Names& names);
  Result<std::int64_t> evaluate(const TunableTable& tunables,
                                std::span<const std::uint16_t> coordinates) const;
  /// Tunables it names, ascending.
  const std::vector<std::size_t>& tunables() const { return used_; }
  /// The values of the names that are no tunables: two problems that agree here share answers.
  std::vector<std::int64_t> constants() const;
  /// "THREADS = 64, N = 100": the names and their values.
  std::string values_text(const TunableTable& tunables, std::span<const std::uint16_t> coordinates) const;

 private:
  std::int64_t value_of(std::size_t name, const TunableTable& tunables,
                        std::span<const std::uint16_t> coordinates) const {
    const Slot& slot = slots_[name];
    return slot.tunable ? tunables.value(*slot.tunable, coordinates[*slot.tunable]) : slot.constant;
  }
  struct Slot {
    std::optional<std::size_t> tunable;
    std::int64_t constant = 0;
  };
  const Expr* expr_ = nullptr;
  std::vector<Slot> slots_;
  std::vector<std::size_t> used_;
};

class BoundRule {
 public:
  enum class Memory { kNone, kAnswers };
  /// Rule, table and device must outlive it.
  BoundRule(const Rule& rule, const TunableTable& tunables, const Names& names, const DeviceInfo& device,
            Memory memory);
  /// False: the config is invalid, or an expression cannot be evaluated for it.
  bool holds(std::span<const std::uint16_t> coordinates);
  /// nullopt, or why the rule is broken. Fails when an expression cannot be evaluated.
  Result<std::optional<std::string>> judge_at(std::span<const std::uint16_t> coordinates) const;
  /// Why it does not hold, evaluation included, for tables.
  std::string reason(std::span<const std::uint16_t> coordinates) const;

  const Rule& rule() const { return *rule_; }
  const std::vector<std::size_t>& tunables() const { return used_; }
  std::vector<std::int64_t> constants() const;

 private:
  bool evaluate_holds(std::span<const std::uint16_t> coordinates) const;

  enum class Answer : std::uint8_t { kUnknown, kHolds, kBroken };
  const Rule* rule_;
  const TunableTable* table_;
  const DeviceInfo* device_;
  std::vector<BoundExpr> exprs_;
  std::vector<std::size_t> used_;     // tunables of all expressions, ascending
  std::vector<std::size_t> strides_;  // of `used_` in `answers_`
  std::vector<Answer> answers_;       // empty: none are remembered
};

/// Every name of every expression is a tunable or known; the error points into the file and says what was
/// meant.
Status check_known(const KernelFile& file, const Names& names);

/// "THREADS=64 VEC=8" of some tunables.
std::string text_of(const TunableTable& tunables, std::span<const std::size_t> which,
                    std::span<const std::uint16_t> coordinates);

}  // namespace ak::kernel
