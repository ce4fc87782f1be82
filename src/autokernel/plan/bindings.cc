#include "autokernel/plan/bindings.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autokernel/plan/tensor_layout.h"

namespace ak::plan {
namespace {

constexpr std::size_t kMaxFlagChoices = 64;

struct BoundTensor {
  const op::TensorSpec* spec;
  Layout layout;
};

/// A flag or dim: "2", "True"; nullopt: not recorded. `fits` is false for what is no integer.
std::optional<std::int64_t> integer_of(const op::MatchValue& value, const Bindings& bindings, bool& fits) {
  fits = true;
  std::optional<double> number = value.constant;
  if (!number) {
    const Argument* argument = bindings.find(value.argument);
    if (argument == nullptr || argument->value.empty()) return std::nullopt;
    if (argument->value == "True") return 1;
    if (argument->value == "False") return 0;
    const auto numbers = numbers_of(argument->value);
    if (!numbers || numbers->empty()) {
      fits = false;
      return std::nullopt;
    }
    number = value.index < numbers->size() ? (*numbers)[value.index] : numbers->front();
  }
  fits = std::nearbyint(*number) == *number && std::fabs(*number) < 1e15;
  if (!fits) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

class ProblemBinder {
 public:
  ProblemBinder(const op::Family& family, const op::Match& match, const Bindings& bindings)
      : family_(family), match_(match), bindings_(bindings) {}

  std::optional<BoundProblem> run() {
    if (!requirements_hold() || !collect_tensors() || !dtype_ || !read_values()) return std::nullopt;
    const std::vector<BoundTensor> recorded = tensors_;
    for (const Merge merge : {Merge::kUntilRankFits, Merge::kAllButTheLast}) {
      tensors_ = recorded;
      if (!arrange_tensors(merge)) continue;
      if (std::optional<BoundProblem> problem = try_flags()) return problem;
      if (match_.flatten.empty()) break;
    }
    return std::nullopt;
  }

 private:
  /// How far the leading dims of `flatten` tensors are merged.
  enum class Merge { kUntilRankFits, kAllButTheLast };

  /// Flags that no argument tells follow from shapes: the first values that fit, defaults first.
  std::optional<BoundProblem> try_flags() {
    std::vector<const op::FlagSpec*> open;
    for (const op::FlagSpec& flag : family_.flags) {
      if (!size_.flags.contains(flag.name) && shapes_use(flag.name)) open.push_back(&flag);
    }
    std::size_t choices = 1;
    for (const op::FlagSpec* flag : open) choices *= flag->values.size();
    for (std::size_t choice = 0; choice < std::min(choices, kMaxFlagChoices); ++choice) {
      std::size_t rest = choice;
      NamedInts chosen;
      for (const op::FlagSpec* flag : open) {
        chosen[flag->name] = flag->values[rest % flag->values.size()];
        rest /= flag->values.size();
      }
      op::Size size = size_;
      size.flags.insert(chosen.begin(), chosen.end());
      if (!unify(size)) continue;
      Result<Problem> problem = op::make_problem(family_, size, *dtype_);
      if (!problem) continue;
      set_strides(*problem);
      return BoundProblem{std::move(*problem), assumed_};
    }
    return std::nullopt;
  }

  bool requirements_hold() const {
    std::size_t rank = 0;
    for (const auto& [tensor, name] : match_.tensors) {
      const Argument* argument = bindings_.find(name);
      if (argument != nullptr) rank = std::max(rank, argument->dims.size());
    }
    const bool given = std::any_of(match_.absent.begin(), match_.absent.end(), [&](const std::string& name) {
      const Argument* argument = bindings_.find(name);
      return argument != nullptr && argument->kind != Argument::Kind::kNone;
    });
    if (given) return false;
    return std::all_of(match_.require.begin(), match_.require.end(), [&](const auto& it) {
      const Argument* argument = bindings_.find(it.first);
      return argument == nullptr || literal_fits(it.second, *argument, rank);
    });
  }

  bool collect_tensors() {
    for (const op::TensorSpec& spec : family_.tensors) {
      const auto name = match_.tensors.find(spec.name);
      const Argument* argument = name == match_.tensors.end() ? nullptr : bindings_.find(name->second);
      if (argument == nullptr || argument->kind != Argument::Kind::kTensor) {
        if (!spec.optional && spec.role != op::TensorRole::kOut) return false;
        continue;
      }
      tensors_.push_back({&spec, {argument->dims, argument->strides}});
      if (spec.role == op::TensorRole::kOut) continue;
      if (spec.optional) size_.has.push_back(spec.name);
      if (!argument->dtype || (spec.dtype && *argument->dtype != *spec.dtype)) return false;
      if (spec.dtype) continue;
      if (dtype_ && *dtype_ != *argument->dtype) return false;
      dtype_ = argument->dtype;
    }
    size_.has.insert(size_.has.end(), match_.has.begin(), match_.has.end());
    return true;
  }

  bool read_values() {
    bool fits = true;
    for (const auto& [name, value] : match_.flags) {
      const auto integer = integer_of(value, bindings_, fits);
      if (!fits) return false;
      if (integer) size_.flags[name] = *integer;
      if (!integer) assumed_.push_back(name);
    }
    for (const auto& [name, value] : match_.dims) {
      const auto integer = integer_of(value, bindings_, fits);
      if (!fits) return false;
      if (integer) size_.dims[name] = *integer;
    }
    for (const auto& [name, value] : match_.scalars) {
      const Argument* argument = value.constant ? nullptr : bindings_.find(value.argument);
      std::optional<double> number = value.constant;
      if (argument != nullptr && !argument->dims.empty()) return false;  // a tensor
      if (argument != nullptr && argument->kind == Argument::Kind::kNone)
        continue;  // None: the default is meant
      if (argument != nullptr) number = number_of(argument->value);
      if (number) size_.scalars[name] = *number;
      if (!number) assumed_.push_back(name);
    }
    return true;
  }

  /// Layouts as the family has them, and the flags that say how they were.
  bool arrange_tensors(Merge merge) {
    if (!match_.channels_last.empty()) {
      const bool last = !tensors_.empty() && tensors_.front().layout.channels_last();
      size_.flags[match_.channels_last] = last ? 1 : 0;
      for (BoundTensor& tensor : tensors_) {
        if (last) tensor.layout.to_channels_last();
      }
    }
    for (const auto& [flag, argument] : match_.transposed) {
      for (BoundTensor& tensor : tensors_) {
        const auto name = match_.tensors.find(tensor.spec->name);
        if (name == match_.tensors.end() || name->second != argument) continue;
        const bool transposed = tensor.layout.transposed_view();
        size_.flags[flag] = transposed ? 1 : 0;
        if (transposed) tensor.layout.swap_last_two();
      }
    }
    return std::all_of(tensors_.begin(), tensors_.end(), [&](BoundTensor& tensor) {
      const auto listed = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), tensor.spec->name) != names.end();
      };
      if (listed(match_.halves)) {
        if (tensor.layout.dims.empty() || tensor.layout.dims.back() % 2 != 0) return false;
        tensor.layout.dims.back() /= 2;
        tensor.layout.strides.clear();  // a kernel gets a table of its own
      }
      const bool flat = listed(match_.flatten);
      const std::size_t rank = tensor.spec->shape.size();
      if (flat && merge == Merge::kAllButTheLast && rank > 2 && !fit_rank(tensor.layout, 2, Leading::kMerge))
        return false;
      return fit_rank(tensor.layout, rank, flat ? Leading::kMerge : Leading::kKeep);
    });
  }

  bool shapes_use(const std::string& flag) const {
    return std::any_of(tensors_.begin(), tensors_.end(), [&](const BoundTensor& tensor) {
      return std::any_of(tensor.spec->shape.begin(), tensor.spec->shape.end(), [&](const Expr& expr) {
        return std::find(expr.names().begin(), expr.names().end(), flag) != expr.names().end();
      });
    });
  }

  std::optional<std::int64_t> value_of(std::string_view name, const op::Size& size) const {
    const std::string key(name);
    if (const auto dim = size.dims.find(key); dim != size.dims.end()) return dim->second;
    if (const auto flag = size.flags.find(key); flag != size.flags.end()) return flag->second;
    const op::FlagSpec* flag = family_.flag(name);
    return flag != nullptr ? std::optional(flag->values.front()) : std::nullopt;
  }

  enum class Fit { kYes, kNo, kUnknown };

  /// Compares an extent with its expression, or learns the one dim that the expression is.
  Fit fit_extent(const Expr& expr, std::int64_t extent, op::Size& size) const {
    std::string missing;
    const auto lookup = [&](std::string_view name) {
      const std::optional<std::int64_t> value = value_of(name, size);
      if (!value) missing = name;
      return value;
    };
    const Result<std::int64_t> value = expr.evaluate(lookup);
    if (value) return *value == extent ? Fit::kYes : Fit::kNo;
    if (missing.empty()) return Fit::kNo;
    const auto with = [&](std::int64_t trial) {
      const Result<std::int64_t> result = expr.evaluate([&](std::string_view name) {
        return name == missing ? std::optional(trial) : value_of(name, size);
      });
      return result && *result == trial;
    };
    const bool is_given = std::find(family_.dims.begin(), family_.dims.end(), missing) != family_.dims.end();
    if (!is_given || !with(extent) || !with(extent + 1)) return Fit::kUnknown;
    size.dims[missing] = extent;
    return Fit::kYes;
  }

  bool unify(op::Size& size) const {
    for (std::size_t round = 0; round <= family_.dims.size(); ++round) {
      bool unknown = false;
      for (const BoundTensor& tensor : tensors_) {
        for (std::size_t i = 0; i < tensor.spec->shape.size(); ++i) {
          const Fit fit = fit_extent(tensor.spec->shape[i], tensor.layout.dims[i], size);
          if (fit == Fit::kNo) return false;
          unknown = unknown || fit == Fit::kUnknown;
        }
      }
      if (!unknown) return true;
    }
    // What is left are derived dims of outputs, which follow from the others.
    return true;
  }

  void set_strides(Problem& problem) const {
    for (const BoundTensor& tensor : tensors_) {
      if (tensor.spec->role != op::TensorRole::kOut && !tensor.layout.contiguous())
        problem.strides[tensor.spec->name] = tensor.layout.strides;
    }
  }

  const op::Family& family_;
  const op::Match& match_;
  const Bindings& bindings_;
  std::vector<BoundTensor> tensors_;
  op::Size size_;
  std::optional<DType> dtype_;
  std::vector<std::string> assumed_;
};

std::string quoted(std::string_view text) { return fmt::format("'{}'", text); }

}  // namespace

const Argument* Bindings::find(std::string_view name) const {
  for (const auto& [bound, argument] : bound_) {
    if (*bound == name) return argument;
  }
  return nullptr;
}

bool literal_fits(std::string_view literal, const Argument& argument, std::size_t rank) {
  if (argument.kind == Argument::Kind::kList) return false;
  if (literal.starts_with('\''))
    return argument.kind == Argument::Kind::kNone || quoted(argument.value) == literal;
  // Numbers and truth values are recorded where they are given.
  if (argument.kind == Argument::Kind::kNone) return literal == "none";
  const auto wanted = numbers_of(literal);
  if (argument.value.empty()) return wanted && argument.dims.empty();
  if (literal == "true") return argument.value == "True" || argument.value == "1";
  if (literal == "false") return argument.value == "False" || argument.value == "0";
  const auto recorded = numbers_of(argument.value);
  if (!wanted || !recorded) return false;
  const auto from_the_end = [&](double number) {
    return number < 0 && std::nearbyint(number) == number ? number + static_cast<double>(rank) : number;
  };
  return std::equal(wanted->begin(), wanted->end(), recorded->begin(), recorded->end(),
                    [&](double a, double b) { return a == b || (a < 0 && from_the_end(a) == b); });
}

std::optional<BoundProblem> bind_problem(const op::Family& family, const op::Match& match,
                                         const Bindings& bindings) {
  return ProblemBinder(family, match, bindings).run();
}

}  // namespace ak::plan
