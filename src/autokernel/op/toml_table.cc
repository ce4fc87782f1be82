#include "autokernel/op/toml_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ak::op {
namespace {

bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Offset of the first use of `name` as a whole word.
std::size_t find_word(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool starts = at == 0 || !is_name_part(text[at - 1]);
    const bool ends = at + name.size() == text.size() || !is_name_part(text[at + name.size()]);
    if (starts && ends) return at;
  }
  return 0;
}

/// The column inside a string value that a column of its expression is: past the quote, on one line only.
int offset_in_value(std::string_view expression, std::size_t offset) {
  return expression.find('\n') == std::string_view::npos ? static_cast<int>(offset) + 1 : 0;
}

}  // namespace

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Result<Expr> parse_expression(const TomlDocument& document, const std::string& pointer, const Json& value) {
  if (value.is_number_integer()) return Expr::parse(std::to_string(value.get<std::int64_t>()));
  if (!value.is_string()) {
    return document.error_at(pointer, "expected an expression in a string, or an integer");
  }
  const std::string& text = value.get_ref<const std::string&>();
  Result<Expr> expr = Expr::parse(text);
  if (expr) return expr;
  const ExprErrorPlace place = place_of_expr_error(expr.error());
  const auto offset = static_cast<std::size_t>(std::max(place.column - 1, 0));
  return document.error_at(pointer, place.message, "", offset_in_value(text, offset));
}

Status check_names(const TomlDocument& document, const std::string& pointer, const Expr& expr,
                   const std::function<bool(std::string_view)>& known, std::string_view hint) {
  for (const std::string& name : expr.names()) {
    if (known(name)) continue;
    return document.error_at(pointer, fmt::format("unknown name `{}`", name), hint,
                             offset_in_value(expr.text(), find_word(expr.text(), name)));
  }
  return {};
}

TomlTable::TomlTable(const TomlDocument& document, std::string pointer)
    : document_(&document), pointer_(std::move(pointer)) {}

const Json& TomlTable::json() const {
  // Pointers are made of keys that exist; a bad one is a bug of ours.
  const Json::json_pointer pointer(pointer_);
  AK_CHECK(document_->root().contains(pointer));
  return document_->root().at(pointer);
}

Status TomlTable::check_table() const {
  if (!json().is_object()) return document_->error_at(pointer_, "expected a table");
  return {};
}

const Json* TomlTable::find(std::string_view key) const {
  const Json& table = json();
  if (!table.is_object()) return nullptr;
  const auto it = table.find(std::string(key));
  return it == table.end() ? nullptr : &*it;
}

bool TomlTable::has(std::string_view key) const { return find(key) != nullptr; }

std::vector<std::string> TomlTable::keys() const { return document_->keys_in_order(pointer_); }

std::string TomlTable::pointer(std::string_view key) const { return child_pointer(pointer_, key); }

tl::unexpected<Error> TomlTable::error(std::string_view key, std::string_view message,
                                       std::string_view hint) const {
  return document_->error_at(pointer(key), message, hint);
}

tl::unexpected<Error> TomlTable::wrong_type(std::string_view key, std::string_view expected) const {
  if (!has(key)) return error(key, fmt::format("`{}` is missing: expected {}", key, expected));
  return error(key, fmt::format("`{}`: expected {}", key, expected));
}

Status TomlTable::allow_keys(std::initializer_list<std::string_view> allowed) const {
  AK_TRY_VOID(check_table());
  for (const std::string& key : keys()) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    return error(key, fmt::format("unknown key `{}`", key),
                 "known keys here: " + joined({allowed.begin(), allowed.end()}));
  }
  return {};
}

Result<std::string> TomlTable::string(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_string()) return wrong_type(key, "a string");
  return value->get<std::string>();
}

Result<bool> TomlTable::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_boolean()) return wrong_type(key, "true or false");
  return value->get<bool>();
}

Result<std::int64_t> TomlTable::integer(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_number_integer()) return wrong_type(key, "an integer");
  return value->get<std::int64_t>();
}

Result<double> TomlTable::number(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_number()) return wrong_type(key, "a finite number");
  return value->get<double>();
}

template <class T, class Convert>
Result<std::vector<T>> TomlTable::list(std::string_view key, std::string_view expected,
                                       Convert convert) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_array()) return wrong_type(key, expected);
  std::vector<T> items;
  for (std::size_t i = 0; i < value->size(); ++i) {
    AK_TRY(item, convert((*value)[i], fmt::format("{}/{}", pointer(key), i)));
    items.push_back(std::move(item));
  }
  return items;
}

Result<std::vector<std::string>> TomlTable::strings(std::string_view key) const {
  return list<std::string>(key, "an array of strings",
                           [&](const Json& item, const std::string& at) -> Result<std::string> {
                             if (item.is_string()) return item.get<std::string>();
                             return document_->error_at(at, "expected a string");
                           });
}

Result<std::vector<std::int64_t>> TomlTable::integers(std::string_view key) const {
  return list<std::int64_t>(key, "an array of integers",
                            [&](const Json& item, const std::string& at) -> Result<std::int64_t> {
                              if (item.is_number_integer()) return item.get<std::int64_t>();
                              return document_->error_at(at, "expected an integer");
                            });
}

Result<std::vector<double>> TomlTable::numbers(std::string_view key) const {
  return list<double>(key, "an array of numbers",
                      [&](const Json& item, const std::string& at) -> Result<double> {
                        if (item.is_number()) return item.get<double>();
                        return document_->error_at(at, "expected a finite number");
                      });
}

Result<Expr> TomlTable::expression(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) return wrong_type(key, "an expression in a string, or an integer");
  return parse_expression(*document_, pointer(key), *value);
}

Result<std::vector<Expr>> TomlTable::expressions(std::string_view key) const {
  return list<Expr>(key, "an array of expressions", [&](const Json& item, const std::string& at) {
    return parse_expression(*document_, at, item);
  });
}

Result<TomlTable> TomlTable::table(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_object()) return wrong_type(key, "a table");
  return TomlTable(*document_, pointer(key));
}

Result<std::vector<TomlTable>> TomlTable::tables(std::string_view key) const {
  std::vector<TomlTable> result;
  const Json* value = find(key);
  if (value == nullptr) return result;
  if (!value->is_array()) return wrong_type(key, fmt::format("tables, written [[{}]]", key));
  for (std::size_t i = 0; i < value->size(); ++i) {
    result.emplace_back(*document_, fmt::format("{}/{}", pointer(key), i));
    AK_TRY_VOID(result.back().check_table());
  }
  return result;
}

}  // namespace ak::op
