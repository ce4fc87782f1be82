#pragma once
// The checked build's judge of memory accesses, one per OS thread. Bounds of everything; for shared memory
// also reads of what no thread has written, and races: two threads of a block touch one byte, one of them
// writes another value, and no barrier lies between. Each shared byte has a shadow: its last write and two of
// its readers, with the time (a counter that barriers, warp exchanges and atomics advance).
//
// g++ leaves out the check of a store that follows a checked load of the same address (`s[i] += x`), and
// calls before a store, not after. So each access leaves a snapshot of its bytes; a change that is seen when
// the thread next waits (flush) is that thread's write.

#include <cstdint>
#include <optional>
#include <vector>

#include "autokernel/device/cpu/fault_record.h"
#include "autokernel/device/cpu/memory_map.h"

namespace ak::cpu {

struct AccessKind {
  bool is_write = false;
  bool is_atomic = false;
};

class AccessChecker {
 public:
  struct Capacity {
    std::uint32_t blocks = 1;  ///< resident at once
    std::uint64_t dynamic_bytes = 0, static_bytes = 0;
    std::uint32_t threads = 1;
  };
  AccessChecker(const MemoryMap& memory, const Capacity& capacity);

  bool covers(std::uint64_t static_bytes) const { return capacity_.static_bytes >= static_bytes; }
  void set_module(std::uintptr_t base, std::uintptr_t end) { module_base_ = base, module_end_ = end; }
  void set_static(const void* begin, std::uint64_t bytes);
  /// A range that may be touched freely, such as the stacks.
  void allow(std::uintptr_t begin, std::uintptr_t end);

  void start_block(std::uint32_t slot, const void* dynamic, std::uint32_t dynamic_bytes);
  void select_block(std::uint32_t slot) { block_ = &blocks_[slot]; }
  void barrier_released();
  void warp_released(std::uint32_t warp, std::uint32_t lanes);

  /// Before `thread` touches [address, address + size); `pc` is the return address of the check.
  std::optional<FaultRecord> access(std::uint32_t thread, std::uintptr_t address, std::uint64_t size,
                                    AccessKind kind, const void* pc);
  /// `thread` stops running: its snapshots are compared.
  std::optional<FaultRecord> flush(std::uint32_t thread);

 private:
  struct Touch {
    std::uint32_t time = 0;  ///< 0: never
    std::uint32_t pc = 0;    ///< offset in the module
    std::uint16_t thread = 0;
    std::uint16_t atomic = 0;
  };
  struct ByteShadow {
    Touch write, read[2];
  };
  struct Block {
    std::uintptr_t dynamic = 0;
    std::uint64_t dynamic_bytes = 0;
    std::uint32_t start_time = 0, barrier_time = 0;
    std::vector<std::uint32_t> warp_time, atomic_time;  // per thread: its last exchange, its last atomic
    std::vector<ByteShadow> shadow;                     // static bytes, then dynamic bytes
  };
  struct Snapshot {
    std::uintptr_t address = 0;
    std::uint32_t size = 0;
    std::uint32_t pc = 0;
    std::uint32_t time = 0;
    bool is_store = false;
    bool conflicts = false;
    Touch conflict;
    bool conflict_is_write = false;
    unsigned char bytes[16] = {};
  };
  struct Place {
    Region region = Region::kUnknown;
    std::uint64_t offset = 0, region_bytes = 0;
    ByteShadow* shadow = nullptr;
  };

  std::optional<FaultRecord> shared_access(std::uint32_t thread, std::uintptr_t address, std::uint64_t size,
                                           AccessKind kind, std::uint32_t pc, const Place& place);
  std::optional<FaultRecord> read_shared(std::uint32_t thread, const Touch& now, ByteShadow* shadow,
                                         std::uint64_t size, const FaultRecord& base);
  std::optional<Snapshot> write_shared(std::uint32_t thread, const Touch& now, ByteShadow* shadow,
                                       std::uint64_t size);
  std::optional<FaultRecord> global_access(std::uintptr_t address, std::uint64_t size, AccessKind kind,
                                           std::uint32_t pc);
  FaultRecord out_of_bounds(std::uintptr_t address, std::uint64_t size, AccessKind kind,
                            std::uint32_t pc) const;
  Place locate(std::uintptr_t address) const;
  bool ordered(const Touch& before, std::uint32_t thread) const;
  FaultRecord race(const Snapshot& snapshot) const;
  std::uint32_t tick();

  const MemoryMap* memory_;
  Capacity capacity_;
  std::uintptr_t module_base_ = 0, module_end_ = 0;
  std::uintptr_t static_ = 0;
  std::uint64_t static_bytes_ = 0;
  std::vector<MemoryRange> allowed_;
  mutable MemoryRange last_hit_{};
  std::vector<Block> blocks_;
  Block* block_ = nullptr;
  std::uint32_t time_ = 0;
  std::vector<Snapshot> snapshots_;
};

/// Reports to the runner of the calling OS thread; does nothing when it does not check.
void report_access(const void* address, std::uint64_t bytes, AccessKind kind, const void* pc);

}  // namespace ak::cpu
