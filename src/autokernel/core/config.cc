#include "autokernel/core/config.h"

#include <nlohmann/json.hpp>

#include "autokernel/base/hash.h"

namespace ak {

std::string to_string(const TunableValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  return std::get<std::string>(value);
}

std::optional<std::int64_t> as_int(const TunableValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::string Config::to_string() const {
  std::string text;
  for (const auto& [name, value] : values) {
    if (!text.empty()) text += ' ';
    text += name + "=" + ak::to_string(value);
  }
  return text.empty() ? "(no tunables)" : text;
}

std::string Config::hash() const {
  return content_hash(to_json(*this).dump(-1, ' ', true, Json::error_handler_t::replace));
}

Json to_json(const Config& config) {
  Json json = Json::object();
  for (const auto& [name, value] : config.values) {
    std::visit([&json, &key = name](const auto& it) { json[key] = it; }, value);
  }
  return json;
}

Result<Config> config_from_json(const Json& json, const std::string& what) {
  AK_TRY(fields, JsonReader::object(json, what));
  Config config;
  for (const auto& member : json.items()) {
    const Json& value = member.value();
    if (value.is_boolean()) {
      config.values[member.key()] = value.get<bool>();
    } else if (value.is_string()) {
      config.values[member.key()] = value.get<std::string>();
    } else if (value.is_number_integer()) {
      AK_TRY(number, fields.get_int(member.key()));
      config.values[member.key()] = number;
    } else {
      return usage_error("{}.{}: expected an integer, true, false or a string", what, member.key());
    }
  }
  return config;
}

}  // namespace ak
