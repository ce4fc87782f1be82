#include "autokernel/ledger/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/toml.h"
#include "autokernel/core/device_info.h"

extern char** environ;

namespace ak::ledger {

namespace {

constexpr std::string_view kSources[] = {"default", "file", "environment", "flag"};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

const SettingSpec* find_spec(std::string_view name) {
  for (const SettingSpec& spec : setting_table()) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

/// "did you mean 'budget'?", or the list of what is known.
std::string known_hint(std::string_view unknown) {
  std::string list;
  std::string_view nearest;
  std::size_t best = 4;  // more changes than this are no typing error
  for (const SettingSpec& spec : setting_table()) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", spec.name);
    const std::size_t distance = edit_distance(unknown, spec.name);
    if (distance < best) {
      best = distance;
      nearest = spec.name;
    }
  }
  return nearest.empty() ? "known settings: " + list : fmt::format("did you mean '{}'?", nearest);
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> switch_of(std::string_view text) {
  for (std::string_view yes : {"on", "true", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (std::string_view no : {"off", "false", "no", "0"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

/// The value in its normal spelling, or what was expected.
Result<std::string> normalised(const SettingSpec& spec, std::string_view text) {
  switch (spec.type) {
    case SettingType::kText:
      if (!text.empty()) return std::string(text);
      return usage_error("expected a text that is not empty");
    case SettingType::kCount: {
      const auto value = number_of<std::int64_t>(text);
      if (value && static_cast<double>(*value) >= spec.low && static_cast<double>(*value) <= spec.high) {
        return std::to_string(*value);
      }
      return usage_error("expected a whole number from {:g} to {:g}, found '{}'", spec.low, spec.high, text);
    }
    case SettingType::kNumber: {
      const auto value = number_of<double>(text);
      if (value && std::isfinite(*value) && *value >= spec.low && *value <= spec.high)
        return fmt::format("{}", *value);
      return usage_error("expected a number from {:g} to {:g}, found '{}'", spec.low, spec.high, text);
    }
    case SettingType::kSwitch: {
      const auto value = switch_of(text);
      if (value) return std::string(*value ? "on" : "off");
      return usage_error("expected on or off, found '{}'", text);
    }
    case SettingType::kBudget: {
      AK_TRY_VOID(parse_budget(text));
      return std::string(text);
    }
    case SettingType::kDevice: {
      AK_TRY_VOID(parse_device_name(text));
      return std::string(text);
    }
  }
  return internal_error("a setting of an unknown type");
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

using FileValues = std::map<std::string, std::pair<std::string, std::string>>;  // name -> text, place

/// Keys of the file, one level of tables deep, checked against the table.
Result<FileValues> read_settings_file(const std::filesystem::path& path) {
  FileValues values;
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return values;
  AK_TRY(text, read_file(path));
  AK_TRY(document, parse_toml(text, {.name = path.string()}));
  const auto add = [&](const std::string& name, const std::string& pointer, const Json& value) -> Status {
    const SettingSpec* spec = find_spec(name);
    if (spec == nullptr)
      return document.error_at(pointer, fmt::format("unknown setting '{}'", name), known_hint(name));
    auto normal = value.is_primitive() ? normalised(*spec, text_of(value))
                                       : Result<std::string>(usage_error("expected one value"));
    if (!normal) return document.error_at(pointer, normal.error().message, std::string(spec->help));
    const TextPosition place = document.position(pointer);
    values[name] = {*normal, fmt::format("{}:{}", path.string(), place.line)};
    return {};
  };
  for (const auto& [key, value] : document.root().items()) {
    if (!value.is_object()) {
      AK_TRY_VOID(add(key, "/" + key, value));
      continue;
    }
    for (const auto& [inner, inner_value] : value.items()) {
      AK_TRY_VOID(add(key + "." + inner, "/" + key + "/" + inner, inner_value));
    }
  }
  return values;
}

std::string flag_name(std::string_view setting) {
  std::string result = "--" + std::string(setting);
  std::replace_if(result.begin(), result.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return result;
}

/// Read by other parts than the settings.
constexpr std::string_view kOtherVariables[] = {"AUTOKERNEL_BIN", "AUTOKERNEL_CACHE", "AUTOKERNEL_CXX",
                                                "AUTOKERNEL_WORKSPACE"};

bool is_known_variable(std::string_view variable) {
  const auto table = setting_table();
  return std::find(std::begin(kOtherVariables), std::end(kOtherVariables), variable) !=
             std::end(kOtherVariables) ||
         std::any_of(table.begin(), table.end(),
                     [&](const SettingSpec& spec) { return environment_name(spec.name) == variable; });
}

/// "AUTOKERNEL_BUDGT" -> "budgt", for the nearest setting.
std::string setting_name(std::string_view variable) {
  std::string name(variable.substr(std::string_view("AUTOKERNEL_").size()));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

Result<std::string> checked(const SettingSpec& spec, std::string_view text, std::string_view origin) {
  auto value = normalised(spec, text);
  if (!value) return usage_error("{}: {} ({})", origin, value.error().message, spec.help);
  return value;
}

}  // namespace

std::string_view name(SettingSource source) { return kSources[static_cast<std::size_t>(source)]; }

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with("AUTOKERNEL_") || equals == text.npos) continue;
    result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

Result<Budget> parse_budget(std::string_view text) {
  const auto bad = [&] {
    return usage_error("'{}' is no budget: give configs (100), a time (90s, 10m, 2h) or both (100,10m)",
                       text);
  };
  Budget budget;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    const std::size_t scale = part.ends_with('s')   ? 1
                              : part.ends_with('m') ? 60
                              : part.ends_with('h') ? 3600
                                                    : 0;
    if (scale != 0) part.remove_suffix(1);
    const auto count = number_of<std::uint32_t>(part);
    if (!count || *count == 0) return bad();
    if (scale == 0 ? budget.trials.has_value() : budget.time.has_value()) return bad();
    if (scale == 0) {
      budget.trials = *count;
    } else {
      budget.time =
          std::chrono::seconds(static_cast<std::int64_t>(*count) * static_cast<std::int64_t>(scale));
    }
    if (comma == rest.npos) return budget;
    rest.remove_prefix(comma + 1);
  }
}

Result<Settings> Settings::load(const SettingsInput& input) {
  for (const auto& [name, text] : input.flags) {
    if (find_spec(name) == nullptr) return usage_error("unknown setting '{}': {}", name, known_hint(name));
  }
  AK_TRY(from_file, read_settings_file(input.file));
  Settings settings;
  for (const auto& [variable, value] : input.environment) {
    if (is_known_variable(variable)) continue;
    settings.warnings_.push_back(fmt::format("the environment variable {} is read by nothing; {}", variable,
                                             known_hint(setting_name(variable))));
  }
  for (const SettingSpec& spec : setting_table()) {
    Setting setting;
    setting.name = spec.name;
    setting.value = spec.default_text;
    setting.help = spec.help;
    const std::string variable = environment_name(spec.name);
    if (const auto flag = input.flags.find(setting.name); flag != input.flags.end()) {
      setting.source = SettingSource::kFlag;
      setting.origin = flag_name(spec.name);
      AK_TRY(value, checked(spec, flag->second, setting.origin));
      setting.value = value;
    } else if (const auto set = input.environment.find(variable); set != input.environment.end()) {
      setting.source = SettingSource::kEnvironment;
      setting.origin = variable;
      AK_TRY(value, checked(spec, set->second, setting.origin));
      setting.value = value;
    } else if (const auto written = from_file.find(setting.name); written != from_file.end()) {
      setting.source = SettingSource::kFile;
      setting.value = written->second.first;
      setting.origin = written->second.second;
    }
    settings.settings_.push_back(std::move(setting));
  }
  return settings;
}

const Setting& Settings::get(std::string_view name) const {
  const auto it =
      std::find_if(settings_.begin(), settings_.end(), [&](const Setting& s) { return s.name == name; });
  AK_CHECK(it != settings_.end());
  return *it;
}

const std::string& Settings::get_text(std::string_view name) const { return get(name).value; }

std::int64_t Settings::get_count(std::string_view name) const {
  const auto value = number_of<std::int64_t>(get(name).value);
  AK_CHECK(value.has_value());
  return *value;
}

double Settings::get_number(std::string_view name) const {
  const auto value = number_of<double>(get(name).value);
  AK_CHECK(value.has_value());
  return *value;
}

bool Settings::get_switch(std::string_view name) const {
  const auto value = switch_of(get(name).value);
  AK_CHECK(value.has_value());
  return *value;
}

Budget Settings::get_budget(std::string_view name) const {
  auto budget = parse_budget(get(name).value);
  AK_CHECK(budget.has_value());
  return *budget;
}

}  // namespace ak::ledger
