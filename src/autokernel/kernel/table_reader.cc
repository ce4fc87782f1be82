#include "autokernel/kernel/table_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/kernel/front_matter.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/text_places.h"

namespace ak::kernel {
namespace {

constexpr std::string_view kExprHint =
    "expressions are over tunables, dims and flags, with + - * / % min max ceil_div && || ! == < ?:";

}  // namespace

std::string child(std::string_view parent, std::string_view key) { return child_pointer(parent, key); }

std::string child(std::string_view parent, std::size_t index) { return fmt::format("{}/{}", parent, index); }

tl::unexpected<Error> FileText::error_at_key(std::string_view pointer, std::string_view key,
                                             std::string_view message, std::string_view hint) const {
  const TextPosition place = document.position(child(pointer, key));
  const std::size_t line = offset_of(text, {place.line, 1});
  const std::size_t in_line = text.substr(line, text.find('\n', line) - line).find(key);
  const bool found = in_line != std::string_view::npos && is_identifier(key);
  return error_at_offset(text, name, found ? line + in_line : offset_of(text, place), message, hint);
}

tl::unexpected<Error> FileText::error_in_string(std::string_view pointer, int column,
                                                std::string_view message, std::string_view hint) const {
  std::size_t at = offset_of(text, document.position(pointer));
  const std::string_view value = text.substr(at);
  if (value.starts_with("\"\"\"") || value.starts_with("'''")) {
    at += 3;
    // TOML drops a line end right after the opening quotes.
    if (text.substr(at).starts_with("\r\n")) ++at;
    if (text.substr(at).starts_with("\n")) ++at;
  } else if (value.starts_with('"') || value.starts_with('\'')) {
    ++at;
  }
  at += static_cast<std::size_t>(column - 1);  // expressions are ASCII up to the error
  return error_at_offset(text, name, std::min(at, text.size()), message, hint);
}

tl::unexpected<Error> expr_error_at(const FileText& file, std::string_view pointer, const Error& error,
                                    std::string_view hint) {
  const ExprErrorPlace place = place_of_expr_error(error);
  return file.error_in_string(pointer, place.column, place.message, hint);
}

Result<TableReader> TableReader::create(const FileText& file, std::string pointer) {
  const Json& table = file.document.root().at(Json::json_pointer(pointer));
  if (!table.is_object()) return file.document.error_at(pointer, "expected a table", "");
  return TableReader(file, std::move(pointer), table);
}

const Json* TableReader::find(std::string_view key) const {
  const auto found = table_->find(std::string(key));
  return found == table_->end() ? nullptr : &*found;
}

Status TableReader::allow(std::initializer_list<std::string_view> keys) const {
  const std::vector<std::string> known(keys.begin(), keys.end());
  for (const std::string& key : this->keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return file_.error_at_key(pointer_, key, fmt::format("unknown key '{}'", key), spelling_hint(key, known));
  }
  return {};
}

tl::unexpected<Error> TableReader::missing(std::string_view key, std::string_view hint) const {
  return file_.document.error_at(pointer_, fmt::format("'{}' is missing", key), hint);
}

tl::unexpected<Error> TableReader::wrong_type(std::string_view at, std::string_view expected,
                                              std::string_view hint) const {
  return file_.document.error_at(at, fmt::format("expected {}", expected), hint);
}

Result<std::string> TableReader::string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return missing(key, fmt::format("add {} = \"...\"", key));
  return string_or(key, "");
}

Result<std::string> TableReader::string_or(std::string_view key, std::string fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string())
    return wrong_type(child(pointer_, key), "a string", fmt::format("{} = \"...\"", key));
  return value->get<std::string>();
}

Result<bool> TableReader::bool_or(std::string_view key, bool fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return wrong_type(child(pointer_, key), "true or false");
  return value->get<bool>();
}

Result<std::int64_t> TableReader::int_or(std::string_view key, std::int64_t fallback) const {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_number_integer()) return wrong_type(child(pointer_, key), "an integer");
  return value->get<std::int64_t>();
}

Result<std::vector<std::string>> TableReader::strings(std::string_view key) const {
  std::vector<std::string> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  const std::string at = child(pointer_, key);
  const std::string hint = fmt::format("{} = [\"...\", \"...\"]", key);
  if (!value->is_array()) return wrong_type(at, "a list of strings", hint);
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& item = (*value)[i];
    if (!item.is_string()) return wrong_type(child(at, i), "a string", hint);
    result.push_back(item.get<std::string>());
  }
  return result;
}

Result<Expr> TableReader::expr_at(const Json& value, const std::string& at) const {
  if (!value.is_string() && !value.is_number_integer()) {
    return wrong_type(at, "an integer or an expression in quotes", "e.g. \"ceil_div(N, BN)\"");
  }
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  Result<Expr> expr = Expr::parse(text);
  if (!expr) return expr_error_at(file_, at, expr.error(), kExprHint);
  return expr;
}

Result<Expr> TableReader::expr(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return missing(key, fmt::format("add {} = \"...\", an integer expression", key));
  return expr_at(*value, child(pointer_, key));
}

Result<std::optional<Expr>> TableReader::optional_expr(std::string_view key) const {
  if (!has(key)) return std::optional<Expr>();
  AK_TRY(value, expr(key));
  return std::optional<Expr>(std::move(value));
}

Result<std::vector<Expr>> TableReader::exprs(std::string_view key) const {
  std::vector<Expr> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  const std::string at = child(pointer_, key);
  if (!value->is_array()) {
    return wrong_type(at, "a list of expressions", fmt::format("in brackets: {} = [\"...\"]", key));
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    AK_TRY(item, expr_at((*value)[i], child(at, i)));
    result.push_back(std::move(item));
  }
  return result;
}

Result<std::vector<TableReader>> TableReader::tables(std::string_view key) const {
  std::vector<TableReader> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  const std::string at = child(pointer_, key);
  if (!value->is_array()) {
    return file_.error_at_key(pointer_, key, fmt::format("'{}' is a list of tables", key),
                              fmt::format("write [[{}]], with two brackets", key));
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_object())
      return wrong_type(child(at, i), "a table", fmt::format("write [[{}]]", key));
    result.push_back(TableReader(file_, child(at, i), (*value)[i]));
  }
  return result;
}

}  // namespace ak::kernel
