#include "autokernel/kernel/space_builder.h"

#include <algorithm>
#include <limits>
#include <map>

#include "autokernel/kernel/kernel_file_parser.h"
#include "autokernel/kernel/names.h"

namespace ak::kernel {

Status SpaceBuilder::add_problems(std::span<const Problem> problems) {
  rules_ = rules_of(file_);
  for (const Rule& rule : rules_) {
    checks_.push_back({pruned_.size(), {}});
    pruned_.push_back({rule.cause, 0, ""});
  }
  // Problems that agree in every constant of every rule are one problem.
  std::map<std::vector<std::int64_t>, std::size_t> seen;
  std::vector<std::map<std::vector<std::int64_t>, std::size_t>> variants(rules_.size());
  for (const Problem& problem : problems) {
    if (const std::optional<std::string> reason = unsupported(file_, problem, device_)) {
      skipped_.push_back(fmt::format("{}: {}", problem.label(), *reason));
      continue;
    }
    const Names names(problem, device_);
    AK_TRY_VOID(check_known(file_, names));
    std::vector<std::int64_t> all;
    std::vector<std::vector<std::int64_t>> constants;
    for (const Rule& rule : rules_) {
      constants.push_back(BoundRule(rule, table_, names, device_, BoundRule::Memory::kNone).constants());
      all.insert(all.end(), constants.back().begin(), constants.back().end());
    }
    if (!seen.emplace(std::move(all), problem_count_).second) continue;
    if (problem_count_ == kMaxProblems) {
      return usage_error("{}: not supported yet: a space for more than {} different problems", file_.name,
                         kMaxProblems);
    }
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const auto [at, added] = variants[i].emplace(constants[i], checks_[i].variants.size());
      if (added) {
        checks_[i].variants.push_back(
            {BoundRule(rules_[i], table_, names, device_, BoundRule::Memory::kAnswers), {}});
      }
      checks_[i].variants[at->second].problems.set(problem_count_);
    }
    ++problem_count_;
  }
  return {};
}

Status SpaceBuilder::count_raw() {
  weights_.assign(table_.size(), 1);
  for (std::size_t i = table_.size(); i-- > 0;) {
    weights_[i] = raw_size_;
    if (__builtin_mul_overflow(raw_size_, table_.count(i), &raw_size_) ||
        raw_size_ > (std::uint64_t{1} << 62)) {
      return usage_error("{}: the tunables have more than 2^62 combinations: list fewer values", file_.name);
    }
  }
  const std::size_t dimensions = std::max<std::size_t>(1, table_.size());
  max_keys_ = limits_.max_bytes / (dimensions * sizeof(std::uint16_t) + sizeof(std::uint64_t));
  return {};
}

// Greedy: next come the tunables of the rule that multiplies the partial configs least; of several such rules
// the one whose tunables complete most rules.
void SpaceBuilder::order_tunables() {
  static_assert(kMaxTunables <= 64);
  std::vector<std::uint64_t> sets;  // tunables of each rule
  for (const Check& check : checks_) {
    if (check.variants.empty()) continue;
    std::uint64_t set = 0;
    for (const std::size_t tunable : check.variants[0].rule.tunables()) set |= std::uint64_t{1} << tunable;
    sets.push_back(set);
  }
  std::uint64_t bound = 0;
  const auto bind = [&](std::uint64_t set) {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if ((set & ~bound) >> i & 1) order_.push_back(i);
    }
    bound |= set;
  };
  for (;;) {
    std::uint64_t best = 0;
    double best_factor = std::numeric_limits<double>::infinity();
    std::ptrdiff_t best_completed = 0;
    for (const std::uint64_t set : sets) {
      if ((set & ~bound) == 0) continue;
      double factor = 1;
      for (std::size_t i = 0; i < table_.size(); ++i) {
        if ((set & ~bound) >> i & 1) factor *= static_cast<double>(table_.count(i));
      }
      const auto completed = std::count_if(sets.begin(), sets.end(), [&](std::uint64_t it) {
        return (it & ~bound) != 0 && (it & ~(bound | set)) == 0;
      });
      if (factor > best_factor || (factor == best_factor && completed <= best_completed)) continue;
      best = set;
      best_factor = factor;
      best_completed = completed;
    }
    if (best == 0) break;
    bind(best);
  }
  bind(~std::uint64_t{0});
}

void SpaceBuilder::place_checks() {
  std::vector<std::size_t> level_of(table_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) level_of[order_[i]] = i + 1;
  subtrees_.assign(order_.size() + 1, 1);
  for (std::size_t i = order_.size(); i-- > 0;) subtrees_[i] = subtrees_[i + 1] * table_.count(order_[i]);
  levels_.resize(order_.size() + 1);
  for (Check& check : checks_) {
    if (check.variants.empty()) continue;
    // The variants of one rule name the same tunables.
    std::size_t level = 0;
    for (const std::size_t tunable : check.variants[0].rule.tunables())
      level = std::max(level, level_of[tunable]);
    levels_[level].push_back(std::move(check));
  }
  checks_.clear();
}

SpaceBuilder::ProblemMask SpaceBuilder::ask(std::vector<Check>& checks, ProblemMask alive,
                                            std::uint64_t subtree) {
  for (Check& check : checks) {
    for (Variant& variant : check.variants) {
      if ((alive & variant.problems).none() || variant.rule.holds(coordinates_)) continue;
      alive &= ~variant.problems;
      if (alive.any()) continue;
      Space::Pruned& pruned = pruned_[check.cause];
      if (pruned.count == 0) {
        const std::string which = text_of(table_, variant.rule.tunables(), coordinates_);
        pruned.example =
            fmt::format("{}{}{}", which, which.empty() ? "" : ": ", variant.rule.reason(coordinates_));
      }
      pruned.count += subtree;
      return alive;
    }
  }
  return alive;
}

void SpaceBuilder::descend(std::size_t level, const ProblemMask& alive, std::uint64_t key) {
  if (level == order_.size()) {
    keys_.push_back(key);
    return;
  }
  const std::size_t tunable = order_[level];
  std::vector<Check>& checks = levels_[level + 1];
  const std::size_t count = table_.count(tunable);
  visited_ += count;
  for (std::size_t i = 0; i < count; ++i) {
    if (visited_ > limits_.max_visited || keys_.size() > max_keys_) return;
    coordinates_[tunable] = static_cast<std::uint16_t>(i);
    const ProblemMask still = checks.empty() ? alive : ask(checks, alive, subtrees_[level + 1]);
    if (still.any()) descend(level + 1, still, key + i * weights_[tunable]);
  }
}

Status SpaceBuilder::enumerate() {
  AK_TRY_VOID(count_raw());
  order_tunables();
  place_checks();
  coordinates_.assign(table_.size(), 0);
  ProblemMask alive;
  for (std::size_t i = 0; i < problem_count_; ++i) alive.set(i);
  alive = ask(levels_[0], alive, raw_size_);
  if (alive.any()) descend(0, alive, 0);
  if (visited_ > limits_.max_visited) {
    return usage_error(
        "{}: the tunables have {} combinations, and the constraints leave too many of them to look at (the "
        "limit is "
        "{}): list fewer values, or add constraints on few tunables each to 'where'",
        file_.name, raw_size_, limits_.max_visited);
  }
  if (keys_.size() > max_keys_) {
    return usage_error(
        "{}: more than {} of {} configs are valid: list fewer values or add constraints to 'where'",
        file_.name, max_keys_, raw_size_);
  }
  if (!std::is_sorted(order_.begin(), order_.end())) std::sort(keys_.begin(), keys_.end());
  return {};
}

}  // namespace ak::kernel
