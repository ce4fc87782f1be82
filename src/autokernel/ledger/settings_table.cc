#include <algorithm>

#include "autokernel/ledger/settings.h"

namespace ak::ledger {

namespace {

constexpr double kAny = 1e18;

constexpr SettingSpec kTable[] = {
    {"device", SettingType::kDevice, "auto", 0, 0,
     "where kernels run: auto (cuda where usable, else cpu), cpu, cuda, cuda:1, ..."},
    {"strategy", SettingType::kText, "annealing", 0, 0,
     "how configs are proposed: autokernel tune --help lists them"},
    {"budget", SettingType::kBudget, "100", 0, 0,
     "of a tune run: configs (100), time (90s, 10m, 2h) or both (100,10m)"},
    {"seed", SettingType::kCount, "1", 0, kAny, "of the strategy: the same seed proposes the same configs"},
    {"threshold", SettingType::kNumber, "0.01", 0, 1,
     "keep rule: the gain that the 95 % interval must exceed"},
    {"agent", SettingType::kText, "none", 0, 0, "who edits kernels; none: nobody, no model is called"},
    {"python", SettingType::kText, "python3", 0, 0, "the interpreter that has PyTorch"},
    {"threads", SettingType::kCount, "0", 0, 4096,
     "threads of the CPU device and of compiles; 0: all there are"},
    {"baseline", SettingType::kSwitch, "on", 0, 0,
     "measure PyTorch's own time where PyTorch is there: on, off"},
    {"move_on.reverts", SettingType::kCount, "5", 1, kAny, "next target after this many reverts in a row"},
    {"move_on.floor_fraction", SettingType::kNumber, "0.9", 0, 1,
     "next target at this share of the roofline floor"},
    {"move_on.target_hours", SettingType::kNumber, "2", 0, kAny, "next target after this many hours on one"},
    {"move_on.speedup", SettingType::kNumber, "2", 1, kAny,
     "next target at this speedup over the fastest baseline"},
};

bool quoted_in_toml(SettingType type) {
  return type == SettingType::kText || type == SettingType::kBudget || type == SettingType::kDevice;
}

std::string toml_value(const SettingSpec& spec) {
  if (spec.type == SettingType::kSwitch) return spec.default_text == "on" ? "true" : "false";
  return quoted_in_toml(spec.type) ? fmt::format("\"{}\"", spec.default_text)
                                   : std::string(spec.default_text);
}

}  // namespace

std::span<const SettingSpec> setting_table() { return kTable; }

std::string default_settings_toml() {
  std::string text =
      "# Settings of this workspace. A flag (--name) wins over the environment (AUTOKERNEL_NAME), which wins "
      "over\n"
      "# this file. `autokernel config` shows each value with its source.\n";
  std::string_view table;
  for (const SettingSpec& spec : kTable) {
    const std::size_t dot = spec.name.find('.');
    const std::string_view section = dot == spec.name.npos ? "" : spec.name.substr(0, dot);
    if (section != table) text += fmt::format("\n[{}]\n", section);
    table = section;
    const std::string_view key = dot == spec.name.npos ? spec.name : spec.name.substr(dot + 1);
    text += fmt::format("# {}\n# {} = {}\n", spec.help, key, toml_value(spec));
  }
  return text;
}

std::string environment_name(std::string_view setting) {
  std::string result = "AUTOKERNEL_";
  for (char c : setting) {
    const bool letter = c >= 'a' && c <= 'z';
    const bool digit = c >= '0' && c <= '9';
    result += letter ? static_cast<char>(c - 'a' + 'A') : digit ? c : '_';
  }
  return result;
}

}  // namespace ak::ledger
