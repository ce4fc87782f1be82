#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "autokernel/search/strategies.h"

namespace ak::search {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Strategy> (*make)(const kernel::Space&, StrategyOptions);
};

constexpr std::array kEntries{
    Entry{"exhaustive", make_exhaustive}, Entry{"random", make_random},
    Entry{"local", make_local},           Entry{"annealing", make_annealing},
    Entry{"genetic", make_genetic},       Entry{"differential-evolution", make_differential_evolution},
    Entry{"gradient", make_gradient},
};

constexpr auto kNames = [] {
  std::array<std::string_view, kEntries.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kEntries[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> strategy_names() { return kNames; }

Status check_strategy(std::string_view name) {
  if (std::ranges::find(kNames, name) != kNames.end()) return {};
  return usage_error("unknown strategy `{}`; the strategies are {}", name, fmt::join(kNames, ", "));
}

Result<std::unique_ptr<Strategy>> create(std::string_view name, const kernel::Space& space,
                                         StrategyOptions options) {
  AK_TRY_VOID(check_strategy(name));
  const auto entry = std::ranges::find(kEntries, name, &Entry::name);
  return entry->make(space, std::move(options));
}

}  // namespace ak::search
