#pragma once
// A config: one value for each tunable of a kernel file.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"

namespace ak {

using TunableValue = std::variant<std::int64_t, bool, std::string>;

std::string to_string(const TunableValue& value);
/// The value as an integer (true is 1); strings have none.
std::optional<std::int64_t> as_int(const TunableValue& value);

struct Config {
  std::map<std::string, TunableValue> values;
  bool operator==(const Config&) const = default;
  std::string to_string() const;  ///< "THREADS=256 VEC=8"
  std::string hash() const;
};

Json to_json(const Config& config);
Result<Config> config_from_json(const Json& json, const std::string& what);

}  // namespace ak
