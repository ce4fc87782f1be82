#include "autokernel/harness/checks.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ak::harness {
namespace {

constexpr std::string_view kIds[] = {
    "compile.sandbox", "audit.code",     "audit.symbols", "audit.state", "audit.launch", "guard.input",
    "guard.edge",      "guard.poison",   "input.secret",  "input.probe", "shape.hidden", "shape.timed",
    "shape.edge",      "place.vary",     "numeric",       "repeat",      "checked.race", "checked.uninit",
    "checked.barrier", "checked.bounds", "isolate",       "fault",       "time.rotate",  "time.cold",
    "time.clock",      "time.keep",      "floor",
};

}  // namespace

std::span<const std::string_view> check_ids() { return kIds; }

Result<CheckSet> CheckSet::without(const std::vector<std::string>& ids) {
  CheckSet set;
  for (const std::string& id : ids) {
    if (std::find(std::begin(kIds), std::end(kIds), id) == std::end(kIds)) {
      return usage_error("unknown check `{}`; the checks are {}", id, fmt::join(kIds, ", "));
    }
    set.off_.insert(id);
  }
  return set;
}

}  // namespace ak::harness
