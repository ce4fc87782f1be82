#pragma once
// Typed access to JSON objects with errors that name the field: the codecs of core and the wire protocol
// are written with it, so that no field of a message is trusted.
//
//   AK_TRY(fields, JsonReader::object(json, "trial"));
//   AK_TRY(id, fields.get_int("id"));

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak {

using Json = nlohmann::json;

/// Parses text; the error carries the line, column and `what` (e.g. the file's name).
Result<Json> parse_json(std::string_view text, std::string_view what);

/// A view of one JSON object; must not outlive it. Every getter fails with `what.field: expected ...`.
class JsonReader {
 public:
  static Result<JsonReader> object(const Json& json, std::string what);

  bool has(std::string_view field) const;
  Result<std::string> get_string(std::string_view field) const;
  Result<std::int64_t> get_int(std::string_view field) const;
  Result<double> get_double(std::string_view field) const;  ///< also reads "inf", "-inf", "nan"
  Result<bool> get_bool(std::string_view field) const;
  Result<const Json*> get(std::string_view field) const;         ///< any value
  Result<const Json*> get_array(std::string_view field) const;   ///< an array
  Result<const Json*> get_object(std::string_view field) const;  ///< an object
  const std::string& what() const { return what_; }

 private:
  JsonReader(const Json& json, std::string what) : json_(&json), what_(std::move(what)) {}
  const Json* json_;
  std::string what_;
};

/// A double as JSON: numbers as they are, non-finite ones as the strings "inf", "-inf", "nan".
Json json_number(double value);
/// For answers that programs read: a number, or null where it is none that JSON has.
Json json_finite(double value);

}  // namespace ak
