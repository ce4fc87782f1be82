#pragma once
// Integer expressions of kernel files and op families: `ceil_div(M, BM) * 2`, `THREADS * VEC <= 8192`.
//
// Grammar, as in C: ?:, ||, &&, == !=, < <= > >=, + -, * / %, unary - + !, calls of min, max (two or more
// arguments), ceil_div, names, decimal integers, `true`, `false`. Values are int64. Overflow, division by
// zero and unknown names are errors with the column; `?:`, `&&` and `||` evaluate only what they need.
//
//   AK_TRY(expr, Expr::parse("ceil_div(N, VEC)"));
//   AK_TRY(value, expr.evaluate([&](std::string_view name) { return lookup(name); }));

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak {

class Expr {
 public:
  using Lookup = std::function<std::optional<std::int64_t>(std::string_view)>;

  /// Fails with `column N: ...`, a caret line and what was expected. Nesting deeper than 64 is an error.
  static Result<Expr> parse(std::string_view text);

  Result<std::int64_t> evaluate(const Lookup& lookup) const;

  /// Slots instead of names, for the enumeration of large spaces: `names()[i]` has the value `values[i]`.
  Result<std::int64_t> evaluate(std::span<const std::int64_t> values) const;

  const std::vector<std::string>& names() const { return names_; }  ///< distinct, in order of appearance
  const std::string& text() const { return text_; }

 private:
  friend class ExprParser;
  struct Op;  // postfix code
  template <class Load>
  Result<std::int64_t> run(const Load& load) const;

  std::string text_;
  std::vector<std::string> names_;
  std::shared_ptr<const std::vector<Op>> code_;  // shared: an Expr is a value that is copied often
};

/// An error of Expr taken apart, to be shown at a place of a larger file.
struct ExprErrorPlace {
  int column = 1;       ///< in the expression, from 1
  std::string message;  ///< without the column, the expression and the caret
};
ExprErrorPlace place_of_expr_error(const Error& error);

}  // namespace ak
