// fuzz-deps: search
// Recorded spaces: whatever the CSV, an error or a space that a search can be replayed on to its end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "autokernel/search/recorded_space.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto recorded =
      ak::search::RecordedSpace::parse({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
  if (!recorded) {
    AK_CHECK(!recorded.error().message.empty());
    return 0;
  }
  AK_CHECK(recorded->best() > 0 && recorded->failures() < recorded->space().size());
  const auto strategy = ak::search::create("genetic", recorded->space(), {});
  AK_CHECK(strategy.has_value());
  const auto replay = ak::search::replay(*recorded, **strategy, 1000, 3);
  AK_CHECK(replay.proposed.size() == std::min<std::size_t>(1000, recorded->space().size()));
  return 0;
}
