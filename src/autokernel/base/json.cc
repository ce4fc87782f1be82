#include "autokernel/base/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace ak {
namespace {

/// Deeper documents would exhaust the stack when they are written or compared.
constexpr int kMaxDepth = 256;

struct Place {
  std::size_t line = 1, column = 1;
};

Place place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')),
          before.size() - line_start + 1};
}

/// Offset of the bracket that nests too deeply, or npos. Brackets in strings do not count.
std::size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string_view::npos;
}

/// The reason without nlohmann's prefix "[json.exception.parse_error.101] parse error at line 1, column 2: ".
std::string_view reason_of(std::string_view what) {
  const std::size_t colon = what.find(": ");
  return colon == std::string_view::npos ? what : what.substr(colon + 2);
}

std::string shown(const Json* value) {
  if (value == nullptr) return "nothing";
  std::string text = value->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

const Json* find(const Json& object, std::string_view field) {
  const auto found = object.find(std::string(field));
  return found == object.end() ? nullptr : &*found;
}

tl::unexpected<Error> mismatch(const std::string& what, std::string_view field, std::string_view expected,
                               const Json* value) {
  return usage_error("{}.{}: expected {}, found {}", what, field, expected, shown(value));
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
  if (const std::size_t offset = too_deep_at(text); offset != std::string_view::npos) {
    const Place place = place_of(text, offset);
    return usage_error("{}:{}:{}: nested deeper than {} levels", what, place.line, place.column, kMaxDepth);
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    const Place place = place_of(text, error.byte > 0 ? error.byte - 1 : 0);
    return usage_error("{}:{}:{}: not valid JSON: {}", what, place.line, place.column,
                       reason_of(error.what()));
  } catch (const Json::exception& error) {  // e.g. a number beyond the range of a double
    return usage_error("{}: not valid JSON: {}", what, error.what());
  }
}

Result<JsonReader> JsonReader::object(const Json& json, std::string what) {
  if (!json.is_object()) return usage_error("{}: expected an object, found {}", what, shown(&json));
  return JsonReader(json, std::move(what));
}

bool JsonReader::has(std::string_view field) const { return find(*json_, field) != nullptr; }

Result<std::string> JsonReader::get_string(std::string_view field) const {
  const Json* value = find(*json_, field);
  if (value == nullptr || !value->is_string()) return mismatch(what_, field, "a string", value);
  return value->get_ref<const std::string&>();
}

Result<std::int64_t> JsonReader::get_int(std::string_view field) const {
  const Json* value = find(*json_, field);
  if (value == nullptr || !value->is_number_integer()) return mismatch(what_, field, "an integer", value);
  if (value->is_number_unsigned() &&
      value->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return mismatch(what_, field, "an integer below 2^63", value);
  }
  return value->get<std::int64_t>();
}

Result<double> JsonReader::get_double(std::string_view field) const {
  const Json* value = find(*json_, field);
  if (value != nullptr && value->is_number()) return value->get<double>();
  if (value != nullptr && value->is_string()) {
    const std::string& text = value->get_ref<const std::string&>();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  return mismatch(what_, field, "a number", value);
}

Result<bool> JsonReader::get_bool(std::string_view field) const {
  const Json* value = find(*json_, field);
  if (value == nullptr || !value->is_boolean()) return mismatch(what_, field, "true or false", value);
  return value->get<bool>();
}

Result<const Json*> JsonReader::get(std::string_view field) const {
  const Json* value = find(*json_, field);
  if (value == nullptr) return mismatch(what_, field, "a value", value);
  return value;
}

Result<const Json*> JsonReader::get_array(std::string_view field) const {
  const Json* value = find(*json_, field);
  if (value == nullptr || !value->is_array()) return mismatch(what_, field, "an array", value);
  return value;
}

Result<const Json*> JsonReader::get_object(std::string_view field) const {
  const Json* value = find(*json_, field);
  if (value == nullptr || !value->is_object()) return mismatch(what_, field, "an object", value);
  return value;
}

Json json_finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace ak
