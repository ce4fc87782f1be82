#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "autokernel/op/op_family.h"
#include "autokernel/op/toml_table.h"

namespace ak::op {
namespace {

constexpr std::int64_t kMaxDim = std::numeric_limits<std::int32_t>::max();  // dims reach a kernel as int
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 46;

/// What `--dims` accepts, for messages.
std::string expected_names(const Family& family) {
  std::vector<std::string> flags, scalars, optional;
  for (const FlagSpec& flag : family.flags) flags.push_back(flag.name);
  for (const ScalarSpec& scalar : family.scalars) scalars.push_back(scalar.name);
  for (const TensorSpec& tensor : family.tensors) {
    if (tensor.optional) optional.push_back(tensor.name);
  }
  std::string text = "dims " + joined(family.dims);
  if (!flags.empty()) text += "; flags " + joined(flags);
  if (!scalars.empty()) text += "; scalars " + joined(scalars);
  if (!optional.empty()) text += "; optional tensors " + joined(optional);
  return text;
}

Status check_dim(const Family& family, const std::string& name, std::int64_t value) {
  if (value < 1) return usage_error("{}: {}={}: a dim is at least 1", family.name, name, value);
  if (value > kMaxDim)
    return usage_error("{}: {}={} is above {}, the largest dim", family.name, name, value, kMaxDim);
  return {};
}

Status fill_dims(const Family& family, const Size& size, Problem& problem) {
  problem.dims = family.dim_defaults;
  for (const auto& [name, value] : size.dims) {
    const bool derived = std::any_of(family.derived.begin(), family.derived.end(),
                                     [&](const auto& it) { return it.first == name; });
    if (!derived && std::find(family.dims.begin(), family.dims.end(), name) == family.dims.end()) {
      return usage_error("{} has no dim `{}`: expected {}", family.name, name, expected_names(family));
    }
    AK_TRY_VOID(check_dim(family, name, value));
    if (!derived) problem.dims[name] = value;
  }
  for (const std::string& name : family.dims) {
    if (!problem.dims.contains(name)) {
      return usage_error("{}: the dim {} is missing: expected {}", family.name, name, expected_names(family));
    }
  }
  return {};
}

Status fill_flags(const Family& family, const Size& size, Problem& problem) {
  for (const FlagSpec& flag : family.flags) problem.flags[flag.name] = flag.values.front();
  for (const auto& [name, value] : size.flags) {
    const FlagSpec* flag = family.flag(name);
    if (flag == nullptr) {
      return usage_error("{} has no flag `{}`: expected {}", family.name, name, expected_names(family));
    }
    const bool listed = std::find(flag->values.begin(), flag->values.end(), value) != flag->values.end();
    const bool ranged = flag->range && value >= flag->range->first && value <= flag->range->second;
    if (!listed && !ranged) {
      std::string allowed;
      for (std::int64_t each : flag->values) allowed += (allowed.empty() ? "" : ", ") + std::to_string(each);
      if (flag->range) allowed = fmt::format("{} to {}", flag->range->first, flag->range->second);
      return usage_error("{}: {}={} is not allowed: expected {}", family.name, name, value, allowed);
    }
    problem.flags[name] = value;
  }
  return {};
}

/// Of a scalar that a size leaves out; dims and flags of the problem are known.
Result<double> default_of(const Family& family, const ScalarSpec& scalar, const Problem& problem) {
  if (!scalar.default_rsqrt) return scalar.default_value;
  Result<std::int64_t> value = scalar.default_rsqrt->evaluate(names_of(family, problem));
  if (!value) {
    return tl::unexpected(
        std::move(value).error().with_context(fmt::format("{}: default of {}", family.name, scalar.name)));
  }
  if (*value < 1) {
    return usage_error("{}: {} has no default, 1 / sqrt of `{}`, which is {}: give {}=VALUE", family.name,
                       scalar.name, scalar.default_rsqrt->text(), *value, scalar.name);
  }
  return 1 / std::sqrt(static_cast<double>(*value));
}

Status fill_scalars(const Family& family, const Size& size, Problem& problem) {
  for (const ScalarSpec& scalar : family.scalars) {
    if (size.scalars.contains(scalar.name)) continue;
    AK_TRY(value, default_of(family, scalar, problem));
    problem.scalars[scalar.name] = value;
  }
  for (const auto& [name, value] : size.scalars) {
    const ScalarSpec* scalar = family.scalar(name);
    if (scalar == nullptr) {
      return usage_error("{} has no scalar `{}`: expected {}", family.name, name, expected_names(family));
    }
    if (!std::isfinite(value) || std::fabs(value) > std::numeric_limits<float>::max()) {
      return usage_error("{}: {}={} is no finite float", family.name, name, value);
    }
    const bool whole = std::nearbyint(value) == value && std::fabs(value) <= static_cast<double>(kMaxDim);
    if (scalar->type == ScalarSpec::Type::kInt && !whole) {
      return usage_error("{}: {}={} is no 32-bit integer", family.name, name, value);
    }
    problem.scalars[name] = value;
  }
  return {};
}

Status fill_optional(const Family& family, const Size& size, Problem& problem) {
  for (const std::string& name : size.has) {
    const TensorSpec* tensor = family.tensor(name);
    if (tensor == nullptr) {
      return usage_error("{} has no tensor `{}`: expected {}", family.name, name, expected_names(family));
    }
    if (tensor->optional) problem.has.push_back(name);  // naming one that is always there is harmless
    if (tensor->role == TensorRole::kOut) {
      return usage_error("{}: `{}` is an output; name the input that it comes with", family.name, name);
    }
  }
  std::sort(problem.has.begin(), problem.has.end());
  problem.has.erase(std::unique(problem.has.begin(), problem.has.end()), problem.has.end());
  return {};
}

Status fill_derived(const Family& family, const Size& size, Problem& problem) {
  for (const auto& [name, expr] : family.derived) {
    Result<std::int64_t> value = expr.evaluate(names_of(family, problem));
    if (!value)
      return tl::unexpected(std::move(value).error().with_context(fmt::format("{}: {}", family.name, name)));
    AK_TRY_VOID(check_dim(family, name, *value));
    if (const auto given = size.dims.find(name); given != size.dims.end() && given->second != *value) {
      return usage_error("{}: {}={} contradicts the other dims, from which {} follows", family.name, name,
                         given->second, *value);
    }
    problem.dims[name] = *value;
  }
  return {};
}

bool uses_derived(const Family& family, const Expr& expr) {
  return std::any_of(expr.names().begin(), expr.names().end(), [&](const std::string& name) {
    return std::any_of(family.derived.begin(), family.derived.end(),
                       [&](const auto& it) { return it.first == name; });
  });
}

/// Conditions on what was given come first: they say more than a derived dim of -3 does.
enum class Conditions { kOnGiven, kOnDerived };

Status check_where(const Family& family, const Problem& problem, Conditions which) {
  for (const Expr& where : family.where) {
    if (uses_derived(family, where) != (which == Conditions::kOnDerived)) continue;
    Result<std::int64_t> holds = where.evaluate(names_of(family, problem));
    if (!holds) return tl::unexpected(std::move(holds).error().with_context(family.name));
    if (*holds == 0) return usage_error("{}: {} violates `{}`", family.name, problem.label(), where.text());
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status parse_part(const Family& family, std::string_view part, Size& size) {
  const std::size_t equals = part.find('=');
  const std::string name(trimmed(part.substr(0, equals)));
  if (equals == std::string_view::npos) {
    const TensorSpec* tensor = family.tensor(name);
    if (tensor == nullptr || !tensor->optional) {
      return usage_error("{}: `{}` is neither NAME=VALUE nor an optional tensor: expected {}", family.name,
                         part, expected_names(family));
    }
    size.has.push_back(name);
    return {};
  }
  const std::string_view value = trimmed(part.substr(equals + 1));
  if (size.dims.contains(name) || size.flags.contains(name) || size.scalars.contains(name)) {
    return usage_error("{}: {} is given twice", family.name, name);
  }
  if (family.scalar(name) != nullptr) {
    const std::optional<double> number = parse_number<double>(value);
    if (!number) return usage_error("{}: {}={}: expected a number", family.name, name, value);
    size.scalars[name] = *number;
    return {};
  }
  const std::optional<std::int64_t> number = parse_number<std::int64_t>(value);
  if (!number) return usage_error("{}: {}={}: expected an integer", family.name, name, value);
  (family.flag(name) != nullptr ? size.flags : size.dims)[name] = *number;
  return {};
}

}  // namespace

Result<Problem> make_problem(const Family& family, const Size& size, DType dtype) {
  Problem problem;
  problem.op = family.name;
  problem.dtype = dtype;
  if (std::find(family.dtypes.begin(), family.dtypes.end(), dtype) == family.dtypes.end()) {
    std::vector<std::string> dtypes;
    for (DType each : family.dtypes) dtypes.emplace_back(name(each));
    return usage_error("{} has no dtype {}: expected {}", family.name, name(dtype), joined(dtypes));
  }
  AK_TRY_VOID(fill_dims(family, size, problem));
  AK_TRY_VOID(fill_flags(family, size, problem));
  AK_TRY_VOID(fill_scalars(family, size, problem));
  AK_TRY_VOID(fill_optional(family, size, problem));
  AK_TRY_VOID(check_where(family, problem, Conditions::kOnGiven));
  AK_TRY_VOID(fill_derived(family, size, problem));
  AK_TRY_VOID(check_where(family, problem, Conditions::kOnDerived));
  for (const TensorSpec& tensor : family.tensors) {
    AK_TRY(count, element_count(family, tensor, problem));
    if (count > kMaxElements) {
      return usage_error("{}: the tensor {} of {} has {} elements, which overflows any memory", family.name,
                         tensor.name, problem.label(), count);
    }
  }
  return problem;
}

Result<Size> parse_size(const Family& family, std::string_view text) {
  Size size;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(", \t\r\n");
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!part.empty()) AK_TRY_VOID(parse_part(family, part, size));
  }
  return size;
}

}  // namespace ak::op
