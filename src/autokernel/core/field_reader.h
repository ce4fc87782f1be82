#pragma once
// Reads the fields of one JSON object into a value; the first failure is kept and the rest is skipped, so
// that a codec is a list of its fields.
//
//   AK_TRY(in, FieldReader::object(json, what));
//   Trial trial;
//   in.read("id", trial.id);
//   in.read("config", trial.config, config_from_json);
//   return in.finish(std::move(trial));

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"

namespace ak {

/// The number that top-level objects carry as "schema".
inline constexpr std::int64_t kSchema = 1;

class FieldReader {
 public:
  static Result<FieldReader> object(const Json& json, std::string what);
  /// An object that carries `"schema": 1`; another number is an error that says which is read here.
  static Result<FieldReader> top_level(const Json& json, std::string what);

  void read(std::string_view field, std::string& out);
  void read(std::string_view field, bool& out);
  void read(std::string_view field, double& out);
  void read(std::string_view field, std::int64_t& out);
  void read(std::string_view field, int& out);
  void read(std::string_view field, std::uint64_t& out);
  void read(std::string_view field, std::uint32_t& out);
  void read(std::string_view field, std::array<std::uint32_t, 3>& out);
  void read(std::string_view field, std::vector<std::string>& out);
  void read(std::string_view field, std::vector<double>& out);
  void read(std::string_view field, std::vector<std::int64_t>& out);
  void read(std::string_view field, std::vector<std::uint32_t>& out);
  void read(std::string_view field, std::map<std::string, std::int64_t>& out);
  void read(std::string_view field, std::map<std::string, double>& out);
  void read(std::string_view field, std::map<std::string, std::string>& out);
  void read(std::string_view field, std::map<std::string, std::vector<std::int64_t>>& out);

  /// A value of another codec, e.g. `config_from_json`.
  template <class T>
  void read(std::string_view field, T& out, Result<T> (*codec)(const Json&, const std::string&)) {
    const Json* value = get(field);
    if (value == nullptr) return;
    keep(codec(*value, path(field)), out);
  }
  template <class T>
  void read_array(std::string_view field, std::vector<T>& out,
                  Result<T> (*codec)(const Json&, const std::string&)) {
    out.clear();
    for (std::size_t i = 0, count = array_size(field); i < count && !error_; ++i) {
      T item;
      keep(codec(element(field, i), path(field, i)), item);
      out.push_back(std::move(item));
    }
  }
  /// null or a missing field is nullopt.
  template <class T>
  void read_optional(std::string_view field, std::optional<T>& out) {
    out.reset();
    if (is_null(field)) return;
    read(field, out.emplace());
  }
  template <class T>
  void read_optional(std::string_view field, std::optional<T>& out,
                     Result<T> (*codec)(const Json&, const std::string&)) {
    out.reset();
    if (is_null(field)) return;
    read(field, out.emplace(), codec);
  }
  /// An enumeration by name.
  template <class E>
  void read_name(std::string_view field, E& out, std::optional<E> (*from_name)(std::string_view)) {
    std::string text;
    read(field, text);
    if (error_) return;
    if (const std::optional<E> value = from_name(text)) {
      out = *value;
    } else {
      fail(field, "a known name", text);
    }
  }
  /// For checks of the codec's own.
  void fail(std::string_view field, std::string_view expected, std::string_view found);

  template <class T>
  Result<T> finish(T value) {
    if (error_) return tl::unexpected(std::move(*error_));
    return value;
  }

 private:
  explicit FieldReader(JsonReader reader) : reader_(std::move(reader)) {}
  template <class T, class U>
  void keep(Result<T> result, U& out) {
    if (error_) return;
    if (result) {
      out = std::move(*result);
    } else {
      error_ = std::move(result).error();
    }
  }
  const Json* get(std::string_view field);
  bool is_null(std::string_view field) const;
  std::size_t array_size(std::string_view field);
  const Json& element(std::string_view field, std::size_t index);
  std::string path(std::string_view field) const;
  std::string path(std::string_view field, std::size_t index) const;
  template <class T, class Read>
  void read_items(std::string_view field, std::vector<T>& out, const Read& read);
  template <class T, class Read>
  void read_members(std::string_view field, std::map<std::string, T>& out, const Read& read);

  JsonReader reader_;
  std::optional<Error> error_;
};

/// null for nullopt.
Json json_optional(const std::optional<double>& value);

}  // namespace ak
