#pragma once
// Typed access to one table of the front matter with errors that point into the kernel file.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/expr.h"
#include "autokernel/base/json.h"
#include "autokernel/base/result.h"
#include "autokernel/base/toml.h"

namespace ak::kernel {

/// A JSON pointer one level down.
std::string child(std::string_view parent, std::string_view key);
std::string child(std::string_view parent, std::size_t index);

/// The document and the text of the whole file that holds it.
struct FileText {
  const TomlDocument& document;
  std::string_view text;
  std::string_view name;

  /// An error at a key (values are what TomlDocument points at).
  tl::unexpected<Error> error_at_key(std::string_view pointer, std::string_view key, std::string_view message,
                                     std::string_view hint) const;
  /// An error inside a string value, `column` from 1 in its text; long strings in three quotes included.
  tl::unexpected<Error> error_in_string(std::string_view pointer, int column, std::string_view message,
                                        std::string_view hint) const;
};

/// A view of one table; must not outlive the document.
class TableReader {
 public:
  /// Fails unless there is a table at the pointer.
  static Result<TableReader> create(const FileText& file, std::string pointer);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const std::string& pointer() const { return pointer_; }
  std::vector<std::string> keys() const { return file_.document.keys_in_order(pointer_); }

  /// Unknown keys are errors.
  Status allow(std::initializer_list<std::string_view> keys) const;

  Result<std::string> string(std::string_view key) const;  ///< required
  Result<std::string> string_or(std::string_view key, std::string fallback) const;
  Result<bool> bool_or(std::string_view key, bool fallback) const;
  Result<std::int64_t> int_or(std::string_view key, std::int64_t fallback) const;
  Result<std::vector<std::string>> strings(std::string_view key) const;  ///< empty when absent
  /// A string or an integer.
  Result<Expr> expr(std::string_view key) const;
  Result<std::optional<Expr>> optional_expr(std::string_view key) const;
  /// A list of strings and integers; empty when absent.
  Result<std::vector<Expr>> exprs(std::string_view key) const;
  /// The tables of `[[key]]`; empty when absent.
  Result<std::vector<TableReader>> tables(std::string_view key) const;

  const Json* find(std::string_view key) const;
  tl::unexpected<Error> missing(std::string_view key, std::string_view hint) const;
  tl::unexpected<Error> wrong_type(std::string_view at, std::string_view expected,
                                   std::string_view hint = "") const;

 private:
  TableReader(const FileText& file, std::string pointer, const Json& table)
      : file_(file), pointer_(std::move(pointer)), table_(&table) {}
  Result<Expr> expr_at(const Json& value, const std::string& at) const;

  FileText file_;
  std::string pointer_;
  const Json* table_;
};

/// An error of an expression, shown at its place in the file.
tl::unexpected<Error> expr_error_at(const FileText& file, std::string_view pointer, const Error& error,
                                    std::string_view hint);

}  // namespace ak::kernel
