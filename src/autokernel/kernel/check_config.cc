#include "autokernel/kernel/bound_rule.h"
#include "autokernel/kernel/space.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

/// Positions of the config's values, or why it is no config of this file.
Result<std::vector<std::uint16_t>> coordinates_of(const KernelFile& file, const Config& config) {
  std::vector<std::uint16_t> coordinates;
  for (const Tunable& tunable : file.tunables) {
    const auto value = config.values.find(tunable.name);
    if (value == config.values.end()) return usage_error("the config has no value for {}", tunable.name);
    const std::optional<std::uint16_t> position = position_of(tunable, value->second);
    if (!position) {
      return usage_error("{}={} is not one of {}", tunable.name, to_string(value->second),
                         values_text(tunable));
    }
    coordinates.push_back(*position);
  }
  for (const auto& [name, value] : config.values) {
    if (find_tunable(file, name) == nullptr) {
      return usage_error("the file has no tunable '{}': {}", name, spelling_hint(name, tunable_names(file)));
    }
  }
  return coordinates;
}

}  // namespace

Result<std::optional<Invalid>> check_config(const KernelFile& file, const Config& config,
                                            const Problem& problem, const DeviceInfo& device) {
  const Names names(problem, device);
  AK_TRY_VOID(check_known(file, names));
  const Result<std::vector<std::uint16_t>> coordinates = coordinates_of(file, config);
  if (!coordinates) return std::optional(Invalid{coordinates.error().message});
  if (const std::optional<std::string> reason = unsupported(file, problem, device)) {
    return std::optional(Invalid{*reason});
  }
  const TunableTable table(file.tunables);
  const std::vector<Rule> rules = rules_of(file);
  for (const Rule& rule : rules) {
    const BoundRule bound(rule, table, names, device, BoundRule::Memory::kNone);
    Result<std::optional<std::string>> reason = bound.judge_at(*coordinates);
    if (!reason) {
      return tl::unexpected(std::move(reason).error().with_context(
          fmt::format("{}: {} cannot be evaluated for {}", file.name, rule.cause, config.to_string())));
    }
    if (*reason) return std::optional(Invalid{std::move(**reason)});
  }
  return std::optional<Invalid>();
}

}  // namespace ak::kernel
