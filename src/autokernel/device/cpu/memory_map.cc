#include "autokernel/device/cpu/memory_map.h"

#include <algorithm>

namespace ak::cpu {

void MemoryMap::sort() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const MemoryRange& a, const MemoryRange& b) { return a.begin < b.begin; });
}

const MemoryRange* MemoryMap::find(std::uintptr_t address) const {
  auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uintptr_t value, const MemoryRange& range) { return value < range.begin; });
  if (after == ranges_.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

const MemoryRange* MemoryMap::nearest_buffer(std::uintptr_t address) const {
  const MemoryRange* best = nullptr;
  std::uintptr_t best_distance = ~std::uintptr_t{0};
  for (const MemoryRange& range : ranges_) {
    if (!range.is_buffer) continue;
    const std::uintptr_t distance = address < range.begin  ? range.begin - address
                                    : address >= range.end ? address - range.end
                                                           : 0;
    if (distance < best_distance) {
      best_distance = distance;
      best = &range;
    }
  }
  return best;
}

}  // namespace ak::cpu
