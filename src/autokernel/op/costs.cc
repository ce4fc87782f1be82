// Shapes and costs of a problem: the family's expressions evaluated.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

#include "autokernel/op/op_family.h"

namespace ak::op {
namespace {

constexpr std::int64_t kMaxCombinations = std::int64_t{1} << 22;
constexpr std::size_t kMaxIndices = 3;

std::optional<std::int64_t> find_int(const NamedInts& values, std::string_view name) {
  const auto it = values.find(std::string(name));
  return it == values.end() ? std::nullopt : std::optional(it->second);
}

/// An expression with the values that stay the same in a count; the indices' slots are set before each
/// evaluation.
struct CountedExpr {
  const Expr* expr;
  std::vector<std::int64_t> values;
  std::array<std::optional<std::size_t>, kMaxIndices> slots;

  static Result<CountedExpr> bind(const Expr& expr, const CostCount& count, const Expr::Lookup& lookup) {
    CountedExpr bound{&expr, {}, {}};
    for (const std::string& name : expr.names()) {
      const auto index = std::find_if(count.over.begin(), count.over.end(),
                                      [&](const auto& it) { return it.first == name; });
      if (index != count.over.end()) {
        bound.slots[static_cast<std::size_t>(index - count.over.begin())] = bound.values.size();
        bound.values.push_back(0);
        continue;
      }
      const std::optional<std::int64_t> value = lookup(name);
      if (!value) return internal_error("unknown name {} in a count", name);
      bound.values.push_back(*value);
    }
    return bound;
  }

  Result<std::int64_t> at(const std::array<std::int64_t, kMaxIndices>& indices) {
    for (std::size_t i = 0; i < kMaxIndices; ++i) {
      if (slots[i]) values[*slots[i]] = indices[i];
    }
    return expr->evaluate(values);
  }
};

Result<std::int64_t> evaluate_count(const CostCount& count, const Expr::Lookup& lookup) {
  std::array<std::int64_t, kMaxIndices> bounds{1, 1, 1};
  std::int64_t combinations = 1;
  for (std::size_t i = 0; i < count.over.size(); ++i) {
    AK_TRY(bound, count.over[i].second.evaluate(lookup));
    bounds[i] = std::max<std::int64_t>(bound, 0);
    if (__builtin_mul_overflow(combinations, bounds[i], &combinations) || combinations > kMaxCombinations) {
      return usage_error("the count {} runs over more than {} combinations", count.name, kMaxCombinations);
    }
  }
  static const Expr kOne = *Expr::parse("1");
  AK_TRY(where, CountedExpr::bind(count.where ? *count.where : kOne, count, lookup));
  const Expr& counted = count.distinct ? *count.distinct : count.sum ? *count.sum : kOne;
  AK_TRY(term, CountedExpr::bind(counted, count, lookup));
  std::unordered_set<std::int64_t> seen;
  std::int64_t total = 0;
  std::array<std::int64_t, kMaxIndices> at{};
  for (at[0] = 0; at[0] < bounds[0]; ++at[0]) {
    for (at[1] = 0; at[1] < bounds[1]; ++at[1]) {
      for (at[2] = 0; at[2] < bounds[2]; ++at[2]) {
        AK_TRY(holds, where.at(at));
        if (holds == 0) continue;
        AK_TRY(value, term.at(at));
        if (count.distinct) {
          seen.insert(value);
        } else if (__builtin_add_overflow(total, value, &total)) {
          return usage_error("the count {} overflows", count.name);
        }
      }
    }
  }
  return count.distinct ? static_cast<std::int64_t>(seen.size()) : total;
}

Result<double> evaluate_cost(const Family& family, const Problem& problem, const Expr& cost,
                             std::string_view what) {
  const Expr::Lookup names = names_of(family, problem);
  NamedInts counts;
  for (const CostCount& count : family.counts) {
    const std::vector<std::string>& used = cost.names();
    if (std::find(used.begin(), used.end(), count.name) == used.end()) continue;
    AK_TRY(value, evaluate_count(count, names));
    counts[count.name] = value;
  }
  Result<std::int64_t> value = cost.evaluate([&](std::string_view name) {
    const std::optional<std::int64_t> count = find_int(counts, name);
    return count ? count : names(name);
  });
  if (!value) {
    return tl::unexpected(std::move(value).error().with_context(
        fmt::format("{} of {} {}", what, family.name, problem.label())));
  }
  return static_cast<double>(*value);
}

}  // namespace

std::string presence_macro(std::string_view tensor) {
  std::string macro = "HAS_";
  for (char c : tensor) macro += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return macro;
}

Expr::Lookup names_of(const Family& family, const Problem& problem) {
  return [&family, &problem](std::string_view name) -> std::optional<std::int64_t> {
    if (const auto dim = find_int(problem.dims, name)) return dim;
    if (const auto flag = find_int(problem.flags, name)) return flag;
    if (name == "elem_bytes") return static_cast<std::int64_t>(size_bytes(problem.dtype));
    if (!name.starts_with("HAS_")) return std::nullopt;
    for (const TensorSpec& tensor : family.tensors) {
      if (tensor.optional && presence_macro(tensor.name) == name)
        return problem.has_tensor(tensor.name) ? 1 : 0;
    }
    return std::nullopt;
  };
}

Result<std::vector<std::int64_t>> shape_of(const Family& family, const TensorSpec& tensor,
                                           const Problem& problem) {
  std::vector<std::int64_t> shape;
  for (const Expr& expr : tensor.shape) {
    Result<std::int64_t> extent = expr.evaluate(names_of(family, problem));
    if (!extent) {
      return tl::unexpected(std::move(extent).error().with_context(
          fmt::format("shape of {} in {}", tensor.name, problem.label())));
    }
    if (*extent < 1) {
      return usage_error("shape of {} in {}: `{}` is {}", tensor.name, problem.label(), expr.text(), *extent);
    }
    shape.push_back(*extent);
  }
  return shape;
}

Result<std::uint64_t> element_count(const Family& family, const TensorSpec& tensor, const Problem& problem) {
  AK_TRY(shape, shape_of(family, tensor, problem));
  std::int64_t count = 1;
  for (std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      return usage_error("the size of {} in {} {} overflows", tensor.name, family.name, problem.label());
    }
  }
  return static_cast<std::uint64_t>(count);
}

DType dtype_of(const TensorSpec& tensor, const Problem& problem) {
  return tensor.dtype.value_or(problem.dtype);
}

Result<double> useful_flops(const Family& family, const Problem& problem) {
  return evaluate_cost(family, problem, family.flops, "flops");
}

Result<double> compulsory_bytes(const Family& family, const Problem& problem) {
  return evaluate_cost(family, problem, family.bytes, "bytes");
}

}  // namespace ak::op
