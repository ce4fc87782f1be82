#include "autokernel/core/field_reader.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace ak {
namespace {

/// JsonReader reads fields of objects: a one-field object carries a bare value, so that the error names its
/// place.
template <class T>
Result<T> get_from(const Json& value, const std::string& what,
                   Result<T> (JsonReader::*getter)(std::string_view) const) {
  const std::size_t dot = what.rfind('.');
  const std::string field = what.substr(dot == std::string::npos ? 0 : dot + 1);
  const Json holder = Json::object({{field, value}});
  AK_TRY(reader, JsonReader::object(holder, dot == std::string::npos ? "" : what.substr(0, dot)));
  return (reader.*getter)(field);
}

Result<std::string> string_of(const Json& value, const std::string& what) {
  return get_from(value, what, &JsonReader::get_string);
}
Result<double> double_of(const Json& value, const std::string& what) {
  return get_from(value, what, &JsonReader::get_double);
}
Result<std::int64_t> int_of(const Json& value, const std::string& what) {
  return get_from(value, what, &JsonReader::get_int);
}
Result<std::uint32_t> uint32_of(const Json& value, const std::string& what) {
  AK_TRY(number, int_of(value, what));
  if (number < 0 || number > std::numeric_limits<std::uint32_t>::max()) {
    return usage_error("{}: expected an integer in [0, 2^32), found {}", what, number);
  }
  return static_cast<std::uint32_t>(number);
}
Result<std::vector<std::int64_t>> ints_of(const Json& value, const std::string& what) {
  if (!value.is_array()) return usage_error("{}: expected an array of integers", what);
  std::vector<std::int64_t> out;
  for (const Json& item : value) {
    AK_TRY(number, int_of(item, what));
    out.push_back(number);
  }
  return out;
}

}  // namespace

Result<FieldReader> FieldReader::object(const Json& json, std::string what) {
  AK_TRY(reader, JsonReader::object(json, std::move(what)));
  return FieldReader(std::move(reader));
}

Result<FieldReader> FieldReader::top_level(const Json& json, std::string what) {
  AK_TRY(in, object(json, what));
  std::int64_t schema = 0;
  in.read("schema", schema);
  if (in.error_) return tl::unexpected(std::move(*in.error_));
  if (schema != kSchema) {
    return usage_error("{}.schema: this version of autokernel reads schema {}, found {}", what, kSchema,
                       schema);
  }
  return in;
}

void FieldReader::read(std::string_view field, std::string& out) { keep(reader_.get_string(field), out); }
void FieldReader::read(std::string_view field, bool& out) { keep(reader_.get_bool(field), out); }
void FieldReader::read(std::string_view field, double& out) { keep(reader_.get_double(field), out); }
void FieldReader::read(std::string_view field, std::int64_t& out) { keep(reader_.get_int(field), out); }

void FieldReader::read(std::string_view field, int& out) {
  std::int64_t value = 0;
  read(field, value);
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    return fail(field, "an integer of 32 bits", std::to_string(value));
  }
  out = static_cast<int>(value);
}

void FieldReader::read(std::string_view field, std::uint64_t& out) {
  const Json* value = get(field);
  if (value == nullptr) return;
  if (!value->is_number_unsigned() && !(value->is_number_integer() && value->get<std::int64_t>() >= 0)) {
    return fail(field, "an integer that is not negative",
                value->dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  out = value->get<std::uint64_t>();
}

void FieldReader::read(std::string_view field, std::uint32_t& out) {
  if (const Json* value = get(field)) keep(uint32_of(*value, path(field)), out);
}

template <class T, class Read>
void FieldReader::read_items(std::string_view field, std::vector<T>& out, const Read& read) {
  out.clear();
  for (std::size_t i = 0, count = array_size(field); i < count && !error_; ++i) {
    T item{};
    keep(read(element(field, i), path(field, i)), item);
    out.push_back(std::move(item));
  }
}

void FieldReader::read(std::string_view field, std::array<std::uint32_t, 3>& out) {
  std::vector<std::uint32_t> items;
  read(field, items);
  if (error_) return;
  if (items.size() != out.size()) return fail(field, "three integers", std::to_string(items.size()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = items[i];
}

void FieldReader::read(std::string_view field, std::vector<std::string>& out) {
  read_items(field, out, string_of);
}
void FieldReader::read(std::string_view field, std::vector<double>& out) {
  read_items(field, out, double_of);
}
void FieldReader::read(std::string_view field, std::vector<std::int64_t>& out) {
  read_items(field, out, int_of);
}
void FieldReader::read(std::string_view field, std::vector<std::uint32_t>& out) {
  read_items(field, out, uint32_of);
}

template <class T, class Read>
void FieldReader::read_members(std::string_view field, std::map<std::string, T>& out, const Read& read) {
  out.clear();
  if (error_) return;
  const Result<const Json*> members = reader_.get_object(field);
  if (!members) {
    error_ = members.error();
    return;
  }
  for (const auto& member : (*members)->items()) {
    keep(read(member.value(), path(field) + "." + member.key()), out[member.key()]);
  }
}

void FieldReader::read(std::string_view field, std::map<std::string, std::int64_t>& out) {
  read_members(field, out, int_of);
}
void FieldReader::read(std::string_view field, std::map<std::string, double>& out) {
  read_members(field, out, double_of);
}
void FieldReader::read(std::string_view field, std::map<std::string, std::string>& out) {
  read_members(field, out, string_of);
}
void FieldReader::read(std::string_view field, std::map<std::string, std::vector<std::int64_t>>& out) {
  read_members(field, out, ints_of);
}

void FieldReader::fail(std::string_view field, std::string_view expected, std::string_view found) {
  if (error_) return;
  error_ = usage_error("{}: expected {}, found {}", path(field), expected, found).value();
}

const Json* FieldReader::get(std::string_view field) {
  if (error_) return nullptr;
  const Json* value = nullptr;
  keep(reader_.get(field), value);
  return value;
}

bool FieldReader::is_null(std::string_view field) const {
  const Result<const Json*> value = reader_.get(field);
  return !value || (*value)->is_null();
}

std::size_t FieldReader::array_size(std::string_view field) {
  if (error_) return 0;
  const Json* value = nullptr;
  keep(reader_.get_array(field), value);
  return value == nullptr ? 0 : value->size();
}

const Json& FieldReader::element(std::string_view field, std::size_t index) {
  return (**reader_.get_array(field))[index];
}

std::string FieldReader::path(std::string_view field) const {
  return fmt::format("{}.{}", reader_.what(), field);
}
std::string FieldReader::path(std::string_view field, std::size_t index) const {
  return fmt::format("{}.{}[{}]", reader_.what(), field, index);
}

Json json_optional(const std::optional<double>& value) { return value ? json_number(*value) : Json(nullptr); }

}  // namespace ak
