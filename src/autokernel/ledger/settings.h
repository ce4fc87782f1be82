#pragma once
// Settings of a workspace: a flag wins over the environment (AUTOKERNEL_<NAME>), which wins over
// autokernel.toml, which wins over the default. Every value remembers where it came from (`autokernel
// config`).
//
//   AK_TRY(settings, Settings::load({.flags = {{"budget", "100"}}, .environment = process_environment(),
//                                    .file = workspace.settings_file()}));
//   settings.get_double("threshold");
//
// A new setting is one row of the table in settings_table.cc.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::ledger {

enum class SettingType { kText, kCount, kNumber, kSwitch, kBudget, kDevice };
enum class SettingSource { kDefault, kFile, kEnvironment, kFlag };
std::string_view name(SettingSource source);  ///< "default", "file", "environment", "flag"

struct SettingSpec {
  std::string_view name;  ///< "threshold"; with a dot it lives in a table of the file: "move_on.reverts"
  SettingType type;
  std::string_view default_text;
  double low, high;       ///< of kCount and kNumber
  std::string_view help;  ///< one line, with the unit
};
std::span<const SettingSpec> setting_table();

/// "100" trials, "90s", "10m", "2h"; "100,10m" is whichever comes first.
struct Budget {
  std::optional<std::size_t> trials;
  std::optional<std::chrono::seconds> time;
};
Result<Budget> parse_budget(std::string_view text);

struct Setting {
  std::string name;
  std::string value;  ///< as text; numbers and switches are normalised
  SettingSource source = SettingSource::kDefault;
  std::string origin;  ///< "--budget", "AUTOKERNEL_BUDGET", "autokernel.toml:3", ""
  std::string help;
};

struct SettingsInput {
  std::map<std::string, std::string> flags;        ///< setting name -> text of its flag
  std::map<std::string, std::string> environment;  ///< variable name -> value
  std::filesystem::path file;                      ///< need not exist; empty: none
};

/// The variables of this process that begin with AUTOKERNEL_.
std::map<std::string, std::string> process_environment();
/// "move_on.reverts" -> "AUTOKERNEL_MOVE_ON_REVERTS".
std::string environment_name(std::string_view setting);
/// autokernel.toml with every setting, commented out, and its help.
std::string default_settings_toml();

class Settings {
 public:
  /// Unknown keys and bad values are usage errors that name the place and the nearest known key.
  static Result<Settings> load(const SettingsInput& input);

  /// The name must be in the table and of that type (a bug of ours otherwise).
  const std::string& get_text(std::string_view name) const;
  std::int64_t get_count(std::string_view name) const;
  double get_number(std::string_view name) const;
  bool get_switch(std::string_view name) const;
  Budget get_budget(std::string_view name) const;
  const Setting& get(std::string_view name) const;
  const std::vector<Setting>& all() const { return settings_; }  ///< in the order of the table
  /// Variables AUTOKERNEL_... that nothing reads, most likely misspelt, with the nearest known name.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::vector<Setting> settings_;
  std::vector<std::string> warnings_;
};

}  // namespace ak::ledger
