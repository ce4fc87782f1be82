#include "autokernel/kernel/values.h"

#include <algorithm>

#include "autokernel/kernel/spelling.h"

namespace ak::kernel {

std::optional<std::uint16_t> position_of(const Tunable& tunable, const TunableValue& value) {
  const auto found = std::find(tunable.values.begin(), tunable.values.end(), value);
  if (found == tunable.values.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - tunable.values.begin());
}

std::string values_text(const Tunable& tunable) {
  std::vector<std::string> texts;
  for (const TunableValue& value : tunable.values) texts.push_back(toml_text(value));
  return joined(texts);
}

std::string toml_text(const TunableValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return to_string(value);
  std::string quoted = "\"";
  for (const char c : *text) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::optional<TunableValue> value_from_text(const Tunable& tunable, std::string_view text) {
  for (const TunableValue& value : tunable.values) {
    if (to_string(value) == text) return value;
    const auto* truth = std::get_if<bool>(&value);
    if (truth != nullptr && text == (*truth ? "1" : "0")) return value;
  }
  return std::nullopt;
}

const Tunable* find_tunable(const KernelFile& file, std::string_view name) {
  for (const Tunable& tunable : file.tunables) {
    if (tunable.name == name) return &tunable;
  }
  return nullptr;
}

std::vector<std::string> tunable_names(const KernelFile& file) {
  std::vector<std::string> names;
  for (const Tunable& tunable : file.tunables) names.push_back(tunable.name);
  return names;
}

}  // namespace ak::kernel
