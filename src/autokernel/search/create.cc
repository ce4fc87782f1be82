#include <fmt/ranges.h>

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

Result<std::unique_ptr<Strategy>> create(std::string_view name, const kernel::Space& space,
                                         StrategyOptions options) {
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.make(space, std::move(options));
  }
  return usage_error("unknown strategy '{}': choose one of {}", name, fmt::join(kNames, ", "));
}

}  // namespace ak::search
