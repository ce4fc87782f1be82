#include "autokernel/kernel/bound_rule.h"

#include <algorithm>

#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

constexpr std::size_t kMaxRemembered = 1u << 20;
constexpr std::size_t kMaxNamesOnStack = 32;
constexpr std::size_t kMaxExprs = 8;  // grid, block and shared memory of a cooperative launch are 7

void add_used(std::vector<std::size_t>& used, std::span<const std::size_t> more) {
  used.insert(used.end(), more.begin(), more.end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
}

}  // namespace

TunableTable::TunableTable(const std::vector<Tunable>& tunables) : tunables_(&tunables) {
  for (const Tunable& tunable : tunables) {
    std::vector<std::int64_t>& values = values_.emplace_back();
    for (const TunableValue& value : tunable.values) values.push_back(as_int(value).value_or(0));
  }
}

std::optional<std::size_t> TunableTable::find(std::string_view name) const {
  for (std::size_t i = 0; i < tunables_->size(); ++i) {
    if ((*tunables_)[i].name == name) return i;
  }
  return std::nullopt;
}

BoundExpr::BoundExpr(const Expr& expr, const TunableTable& tunables, const Names& names) : expr_(&expr) {
  for (const std::string& name : expr.names()) {
    if (const std::optional<std::size_t> tunable = tunables.find(name)) {
      slots_.push_back({tunable, 0});
      add_used(used_, {&*tunable, 1});
    } else {
      const std::optional<std::int64_t> value = names.find(name);
      AK_CHECK(value.has_value());
      slots_.push_back({std::nullopt, *value});
    }
  }
}

Result<std::int64_t> BoundExpr::evaluate(const TunableTable& tunables,
                                         std::span<const std::uint16_t> coordinates) const {
  std::int64_t on_stack[kMaxNamesOnStack];
  std::vector<std::int64_t> on_heap(slots_.size() > kMaxNamesOnStack ? slots_.size() : 0);
  std::int64_t* values = on_heap.empty() ? on_stack : on_heap.data();
  for (std::size_t i = 0; i < slots_.size(); ++i) values[i] = value_of(i, tunables, coordinates);
  return expr_->evaluate(std::span<const std::int64_t>(values, slots_.size()));
}

std::string BoundExpr::values_text(const TunableTable& tunables,
                                   std::span<const std::uint16_t> coordinates) const {
  std::string text;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    text +=
        fmt::format("{}{} = {}", i == 0 ? "" : ", ", expr_->names()[i], value_of(i, tunables, coordinates));
  }
  return text;
}

std::vector<std::int64_t> BoundExpr::constants() const {
  std::vector<std::int64_t> result;
  for (const Slot& slot : slots_) {
    if (!slot.tunable) result.push_back(slot.constant);
  }
  return result;
}

BoundRule::BoundRule(const Rule& rule, const TunableTable& tunables, const Names& names,
                     const DeviceInfo& device, Memory memory)
    : rule_(&rule), table_(&tunables), device_(&device) {
  AK_CHECK(rule.exprs.size() <= kMaxExprs);
  std::size_t combinations = 1;
  for (const Expr* expr : rule.exprs) {
    exprs_.emplace_back(*expr, tunables, names);
    add_used(used_, exprs_.back().tunables());
  }
  for (const std::size_t tunable : used_) {
    strides_.push_back(combinations);
    combinations *= tunables.count(tunable);
    if (combinations > kMaxRemembered) return;
  }
  if (memory == Memory::kAnswers) answers_.assign(combinations, Answer::kUnknown);
}

Result<std::optional<std::string>> BoundRule::judge_at(std::span<const std::uint16_t> coordinates) const {
  std::int64_t values[kMaxExprs];
  for (std::size_t i = 0; i < exprs_.size(); ++i) {
    AK_TRY(value, exprs_[i].evaluate(*table_, coordinates));
    values[i] = value;
  }
  std::optional<std::string> reason = judge(*rule_, std::span(values, exprs_.size()), *device_);
  if (!reason) return reason;
  const bool condition = rule_->kind == Rule::Kind::kWhere || rule_->kind == Rule::Kind::kNeeds;
  // Other reasons quote the values themselves.
  if (condition) *reason += fmt::format(" ({})", exprs_[0].values_text(*table_, coordinates));
  return reason;
}

bool BoundRule::evaluate_holds(std::span<const std::uint16_t> coordinates) const {
  std::int64_t values[kMaxExprs];
  for (std::size_t i = 0; i < exprs_.size(); ++i) {
    const Result<std::int64_t> value = exprs_[i].evaluate(*table_, coordinates);
    if (!value) return false;
    values[i] = *value;
  }
  const bool condition = rule_->kind == Rule::Kind::kWhere || rule_->kind == Rule::Kind::kNeeds;
  if (condition) return values[0] != 0;  // without the text of a reason
  return !judge(*rule_, std::span(values, exprs_.size()), *device_);
}

bool BoundRule::holds(std::span<const std::uint16_t> coordinates) {
  if (answers_.empty()) return evaluate_holds(coordinates);
  std::size_t at = 0;
  for (std::size_t i = 0; i < used_.size(); ++i) at += strides_[i] * coordinates[used_[i]];
  Answer& answer = answers_[at];
  if (answer == Answer::kUnknown) answer = evaluate_holds(coordinates) ? Answer::kHolds : Answer::kBroken;
  return answer == Answer::kHolds;
}

std::string BoundRule::reason(std::span<const std::uint16_t> coordinates) const {
  const Result<std::optional<std::string>> broken = judge_at(coordinates);
  return broken ? broken->value_or("") : place_of_expr_error(broken.error()).message;
}

std::vector<std::int64_t> BoundRule::constants() const {
  std::vector<std::int64_t> result;
  for (const BoundExpr& expr : exprs_) {
    const std::vector<std::int64_t> more = expr.constants();
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

std::string text_of(const TunableTable& tunables, std::span<const std::size_t> which,
                    std::span<const std::uint16_t> coordinates) {
  std::string text;
  for (const std::size_t tunable : which) {
    const Tunable& it = tunables.tunables()[tunable];
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : " ", it.name, to_string(it.values[coordinates[tunable]]));
  }
  return text;
}

Status check_known(const KernelFile& file, const Names& names) {
  for (const ExprPlace& place : all_exprs(file)) {
    for (const std::string& name : place.expr->names()) {
      if (find_tunable(file, name) != nullptr || names.find(name)) continue;
      std::vector<std::string> known = tunable_names(file);
      for (std::string& it : names.all()) known.push_back(std::move(it));
      return error_at_name(file, place, name, fmt::format("unknown name '{}'", name),
                           spelling_hint(name, known));
    }
  }
  return {};
}

}  // namespace ak::kernel
