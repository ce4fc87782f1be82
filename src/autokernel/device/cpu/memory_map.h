#pragma once
// What a checked kernel may touch besides shared memory and its own stack: buffers, the module, launch
// arguments.

#include <cstdint>
#include <vector>

namespace ak::cpu {

struct MemoryRange {
  std::uintptr_t begin = 0, end = 0;
  bool is_buffer = false;
  std::uint32_t buffer = 0;  ///< index, for reports
  bool writable = true;
};

class MemoryMap {
 public:
  void add(const MemoryRange& range) { ranges_.push_back(range); }
  void sort();  ///< before the first find
  /// The range that holds `address`, or null.
  const MemoryRange* find(std::uintptr_t address) const;
  /// The buffer whose edge is nearest, or null.
  const MemoryRange* nearest_buffer(std::uintptr_t address) const;

 private:
  std::vector<MemoryRange> ranges_;
};

}  // namespace ak::cpu
