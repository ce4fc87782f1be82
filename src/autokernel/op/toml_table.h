#pragma once
// Typed access to one table of a TOML document; every error points at the value.
//
//   TomlTable tensor(document, "/tensor/0");
//   AK_TRY_VOID(tensor.allow_keys({"name", "role", "shape"}));
//   AK_TRY(name, tensor.string("name"));

#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/expr.h"
#include "autokernel/base/toml.h"

namespace ak::op {

/// An expression of a document with the place that errors about it point at.
struct PlacedExpr {
  Expr expr;
  std::string pointer;
};

/// Must not outlive the document. The value at the pointer must be a table (`check_table` says so politely).
class TomlTable {
 public:
  TomlTable(const TomlDocument& document, std::string pointer);

  Status check_table() const;
  bool has(std::string_view key) const;
  std::vector<std::string> keys() const;  ///< in the order written
  std::string pointer(std::string_view key) const;
  /// Any other key is an error that lists these.
  Status allow_keys(std::initializer_list<std::string_view> allowed) const;

  Result<std::string> string(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;
  Result<std::int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;  ///< an integer or a finite float
  Result<std::vector<std::string>> strings(std::string_view key) const;
  Result<std::vector<std::int64_t>> integers(std::string_view key) const;
  Result<std::vector<double>> numbers(std::string_view key) const;
  Result<Expr> expression(std::string_view key) const;  ///< a string with an expression, or an integer
  Result<std::vector<Expr>> expressions(std::string_view key) const;
  Result<TomlTable> table(std::string_view key) const;
  /// Elements of an array of tables; absent: none.
  Result<std::vector<TomlTable>> tables(std::string_view key) const;

  /// An error that points at the value of `key`, or at this table where there is none.
  tl::unexpected<Error> error(std::string_view key, std::string_view message,
                              std::string_view hint = "") const;

  const Json& json() const;
  const TomlDocument& document() const { return *document_; }

 private:
  const Json* find(std::string_view key) const;
  tl::unexpected<Error> wrong_type(std::string_view key, std::string_view expected) const;
  template <class T, class Convert>
  Result<std::vector<T>> list(std::string_view key, std::string_view expected, Convert convert) const;

  const TomlDocument* document_;
  std::string pointer_;
};

/// Parses the expression at `pointer`; errors point into the string.
Result<Expr> parse_expression(const TomlDocument& document, const std::string& pointer, const Json& value);

/// Fails, pointing at the name, when the expression uses a name that `known` denies; the hint lists the known
/// ones.
Status check_names(const TomlDocument& document, const std::string& pointer, const Expr& expr,
                   const std::function<bool(std::string_view)>& known, std::string_view hint);

/// "a, b, c"
std::string joined(const std::vector<std::string>& names);

}  // namespace ak::op
