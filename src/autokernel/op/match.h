#pragma once
// A [[match]] table of op.toml: one spelling of a family by PyTorch, as an ATen op or as a sequence of them
// (docs/reference/op-family.md#how-pytorch-spells-it). Readers of traces and of graphs apply it; nothing here
// knows an op.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::op {

/// An argument of a step.
struct MatchArgument {
  enum class Kind {
    kName,        ///< a family tensor, scalar, flag or dim, an earlier result, or a name of the table's own
    kAny,         ///< `_`
    kLiteral,     ///< a number, true, false, none, 'text', a list of numbers
    kExpression,  ///< over dims: `D / 2`
    kList,        ///< [a, b]: a list of names
  };
  Kind kind = Kind::kName;
  std::string text;                  ///< 'text' with its quotes; of a list of names: empty
  std::vector<MatchArgument> items;  ///< of a list of names
};

/// `results = op(arguments)`
struct MatchStep {
  std::vector<std::string> results;
  std::string op;  ///< without the underscore of an in-place variant
  std::vector<MatchArgument> arguments;
};

/// A value of a dim, flag or scalar: a constant, an argument, or an element of a list argument.
struct MatchValue {
  std::optional<double> constant;
  std::string argument;
  std::size_t index = 0;  ///< of the element; 0 for a plain number
};

struct Match {
  std::vector<MatchStep> steps;                ///< at least one
  std::map<std::string, std::string> tensors;  ///< family tensor -> name among the arguments and results
  std::map<std::string, MatchValue> dims, flags, scalars;
  std::map<std::string, std::string>
      transposed;  ///< flag -> argument of which it says that it is a transposed view
  std::string
      channels_last;  ///< flag that is 1 where the first tensor's memory format is channels_last; or empty
  std::map<std::string, std::string> require;  ///< argument -> literal, as in steps
  std::vector<std::string> flatten;            ///< tensors whose leading dims are merged
  std::vector<std::string> halves;             ///< tensors that are the first half of the argument's last dim
  std::vector<std::string> absent;             ///< arguments that must not be given
  std::vector<std::string> has;  ///< optional tensors that are present though no argument is theirs
  bool ignore_casts = false;     ///< casts before, between and behind the steps are seen through
};

/// "aten::relu_" -> "aten::relu": an in-place variant computes the same.
std::string_view without_in_place(std::string_view op);

/// `y, mean = aten::native_layer_norm(x, [N], _, eps)`. The error says what is wrong, and the column.
Result<MatchStep> parse_step(std::string_view text);

}  // namespace ak::op
