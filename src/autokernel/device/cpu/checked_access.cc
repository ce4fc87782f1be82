#include "autokernel/device/cpu/checked_access.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "autokernel/device/cpu/block_runner.h"
#include "autokernel/device/cpu/thread_set.h"

namespace ak::cpu {
namespace {

constexpr std::size_t kMaxSnapshots = 64;
/// Beyond the end of shared memory an overrun is still reported as one of it.
constexpr std::uintptr_t kNearShared = 64 * 1024;

}  // namespace

AccessChecker::AccessChecker(const MemoryMap& memory, const Capacity& capacity)
    : memory_(&memory), capacity_(capacity), blocks_(capacity.blocks) {
  for (Block& block : blocks_) {
    block.warp_time.resize(capacity.threads);
    block.atomic_time.resize(capacity.threads);
    block.shadow.resize(capacity.static_bytes + capacity.dynamic_bytes);
  }
  snapshots_.reserve(kMaxSnapshots);
  allowed_.reserve(8);
}

void AccessChecker::set_static(const void* begin, std::uint64_t bytes) {
  static_ = reinterpret_cast<std::uintptr_t>(begin);
  static_bytes_ = bytes;
}

void AccessChecker::allow(std::uintptr_t begin, std::uintptr_t end) {
  for (const MemoryRange& range : allowed_) {
    if (range.begin == begin && range.end == end) return;
  }
  allowed_.push_back({begin, end});
}

std::uint32_t AccessChecker::tick() {
  if (time_ == std::numeric_limits<std::uint32_t>::max()) {
    // Once in 2^32 barriers: forgetting may miss a race, never invent one, but all counts as unwritten.
    for (Block& block : blocks_) std::fill(block.shadow.begin(), block.shadow.end(), ByteShadow{});
    time_ = 0;
  }
  return ++time_;
}

void AccessChecker::start_block(std::uint32_t slot, const void* dynamic, std::uint32_t dynamic_bytes) {
  Block& block = blocks_[slot];
  block.dynamic = reinterpret_cast<std::uintptr_t>(dynamic);
  block.dynamic_bytes = dynamic_bytes;
  block.start_time = block.barrier_time = tick();
  std::fill(block.warp_time.begin(), block.warp_time.end(), 0u);
  std::fill(block.atomic_time.begin(), block.atomic_time.end(), 0u);
  block_ = &block;
}

void AccessChecker::barrier_released() { block_->barrier_time = tick(); }

void AccessChecker::warp_released(std::uint32_t warp, std::uint32_t lanes) {
  const std::uint32_t now = tick();
  for (std::uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if ((lanes >> lane) & 1) block_->warp_time[warp * kWarpSize + lane] = now;
  }
}

/// Whether an earlier touch is ordered before what `thread` does now.
bool AccessChecker::ordered(const Touch& before, std::uint32_t thread) const {
  const Block& block = *block_;
  if (before.time < block.barrier_time || before.thread == thread || before.atomic != 0) return true;
  const auto both_after = [&](const std::vector<std::uint32_t>& times) {
    return times[before.thread] > before.time && times[thread] > before.time;
  };
  if (before.thread / kWarpSize == thread / kWarpSize && both_after(block.warp_time)) return true;
  return both_after(block.atomic_time);  // a lock or a flag may order them: no report
}

AccessChecker::Place AccessChecker::locate(std::uintptr_t address) const {
  Place place;
  auto* shadow = const_cast<ByteShadow*>(block_->shadow.data());
  if (address - block_->dynamic < block_->dynamic_bytes) {
    place.region = Region::kDynamicShared;
    place.offset = address - block_->dynamic;
    place.region_bytes = block_->dynamic_bytes;
    place.shadow = shadow + capacity_.static_bytes + place.offset;
  } else if (address - static_ < static_bytes_) {
    place.region = Region::kStaticShared;
    place.offset = address - static_;
    place.region_bytes = static_bytes_;
    place.shadow = shadow + place.offset;
  }
  return place;
}

std::optional<FaultRecord> AccessChecker::access(std::uint32_t thread, std::uintptr_t address,
                                                 std::uint64_t size, AccessKind kind, const void* pc) {
  if (block_ == nullptr || size == 0) return std::nullopt;
  const auto at = reinterpret_cast<std::uintptr_t>(pc);
  const auto site =
      static_cast<std::uint32_t>(at >= module_base_ && at <= module_end_ ? at - module_base_ : 0);
  const Place place = locate(address);
  if (kind.is_atomic) {
    // What the thread did before is done before its atomic, which may release a lock.
    if (auto record = flush(thread)) return record;
    block_->atomic_time[thread] = tick();
  }
  if (place.region == Region::kUnknown) return global_access(address, size, kind, site);
  if (place.offset + size > place.region_bytes) return out_of_bounds(address, size, kind, site);
  return shared_access(thread, address, size, kind, site, place);
}

std::optional<FaultRecord> AccessChecker::shared_access(std::uint32_t thread, std::uintptr_t address,
                                                        std::uint64_t size, AccessKind kind, std::uint32_t pc,
                                                        const Place& place) {
  FaultRecord base;
  base.pc = pc;
  base.address = address;
  base.offset = static_cast<std::int64_t>(place.offset);
  base.region = place.region;
  base.region_bytes = place.region_bytes;
  base.size = static_cast<std::uint32_t>(size);
  base.is_write = kind.is_write;
  const Touch now{time_, pc, static_cast<std::uint16_t>(thread), static_cast<std::uint16_t>(kind.is_atomic)};
  if (kind.is_atomic) {
    for (std::uint64_t i = 0; kind.is_write && i < size; ++i) place.shadow[i].write = now;
    return std::nullopt;
  }
  std::optional<Snapshot> conflict;
  if (kind.is_write) {
    conflict = write_shared(thread, now, place.shadow, size);
  } else if (auto record = read_shared(thread, now, place.shadow, size, base)) {
    return record;
  }
  const std::size_t pieces = (size + 15) / 16;
  if (snapshots_.size() + pieces > kMaxSnapshots) {
    if (auto record = flush(thread)) return record;
  }
  for (std::size_t i = 0; i < pieces && i < kMaxSnapshots; ++i) {
    Snapshot snapshot = conflict.value_or(Snapshot{});
    snapshot.address = address + i * 16;
    snapshot.size = static_cast<std::uint32_t>(std::min<std::uint64_t>(16, size - i * 16));
    snapshot.pc = pc;
    snapshot.time = now.time;
    snapshot.is_store = kind.is_write;
    std::memcpy(snapshot.bytes, reinterpret_cast<const void*>(snapshot.address), snapshot.size);
    snapshots_.push_back(snapshot);
  }
  return std::nullopt;
}

std::optional<FaultRecord> AccessChecker::read_shared(std::uint32_t thread, const Touch& now,
                                                      ByteShadow* shadow, std::uint64_t size,
                                                      const FaultRecord& base) {
  for (std::uint64_t i = 0; i < size; ++i) {
    ByteShadow& byte = shadow[i];
    if (byte.write.time < block_->start_time) {
      FaultRecord record = base;
      record.kind = RecordKind::kUninitialised;
      record.offset += static_cast<std::int64_t>(i);
      return record;
    }
    if (!ordered(byte.write, thread)) {
      Snapshot snapshot;
      snapshot.address = base.address;
      snapshot.size = base.size;
      snapshot.pc = base.pc;
      snapshot.conflict = byte.write;
      snapshot.conflict_is_write = true;
      FaultRecord record = race(snapshot);
      record.is_write = 0;
      return record;
    }
    // The first reader since the barrier stays, the second slot takes the latest other one.
    const bool first_is_old = byte.read[0].time < block_->barrier_time;
    if (first_is_old) byte.read[1] = Touch{};
    byte.read[first_is_old || byte.read[0].thread == now.thread ? 0 : 1] = now;
  }
  return std::nullopt;
}

/// Notes the write; the first touch that conflicts with it, if its value differs, comes back.
std::optional<AccessChecker::Snapshot> AccessChecker::write_shared(std::uint32_t thread, const Touch& now,
                                                                   ByteShadow* shadow, std::uint64_t size) {
  std::optional<Snapshot> conflict;
  const auto note = [&](const Touch& touch, bool is_write) {
    if (conflict || touch.time < block_->start_time || touch.time == 0 || ordered(touch, thread)) return;
    conflict.emplace();
    conflict->conflicts = true;
    conflict->conflict = touch;
    conflict->conflict_is_write = is_write;
  };
  for (std::uint64_t i = 0; i < size; ++i) {
    ByteShadow& byte = shadow[i];
    note(byte.write, true);
    note(byte.read[0], false);
    note(byte.read[1], false);
    byte.write = now;
  }
  return conflict;
}

std::optional<FaultRecord> AccessChecker::flush(std::uint32_t thread) {
  std::optional<FaultRecord> found;
  for (const Snapshot& snapshot : snapshots_) {
    if (std::memcmp(snapshot.bytes, reinterpret_cast<const void*>(snapshot.address), snapshot.size) == 0)
      continue;
    Snapshot changed = snapshot;
    if (!snapshot.is_store) {
      const Place place = locate(snapshot.address);
      if (place.shadow == nullptr) continue;
      const Touch now{snapshot.time, snapshot.pc, static_cast<std::uint16_t>(thread), 0};
      const auto conflict = write_shared(thread, now, place.shadow, snapshot.size);
      if (!conflict) continue;
      changed.conflicts = true;
      changed.conflict = conflict->conflict;
      changed.conflict_is_write = conflict->conflict_is_write;
    }
    if (!changed.conflicts) continue;
    found = race(changed);
    found->is_write = 1;
    break;
  }
  snapshots_.clear();
  return found;
}

FaultRecord AccessChecker::race(const Snapshot& snapshot) const {
  const Place place = locate(snapshot.address);
  FaultRecord record;
  record.kind = RecordKind::kRace;
  record.pc = snapshot.pc;
  record.address = snapshot.address;
  record.region = place.region;
  record.offset = static_cast<std::int64_t>(place.offset);
  record.region_bytes = place.region_bytes;
  record.size = snapshot.size;
  record.other_pc = snapshot.conflict.pc;
  record.other_is_write = snapshot.conflict_is_write;
  record.detail = snapshot.conflict.thread;  // the runner knows the block's shape
  return record;
}

std::optional<FaultRecord> AccessChecker::global_access(std::uintptr_t address, std::uint64_t size,
                                                        AccessKind kind, std::uint32_t pc) {
  const auto inside = [&](const MemoryRange& range) {
    return address >= range.begin && address < range.end && size <= range.end - address;
  };
  if (inside(last_hit_) && (last_hit_.writable || !kind.is_write)) return std::nullopt;
  for (const MemoryRange& range : allowed_) {
    if (inside(range)) return std::nullopt;
  }
  if (address >= module_base_ && address < module_end_ && size <= module_end_ - address) return std::nullopt;
  const MemoryRange* range = memory_->find(address);
  if (range == nullptr || !inside(*range)) return out_of_bounds(address, size, kind, pc);
  if (kind.is_write && !range->writable) {
    FaultRecord record = out_of_bounds(address, size, kind, pc);
    record.kind = RecordKind::kReadOnlyWrite;
    return record;
  }
  last_hit_ = *range;
  return std::nullopt;
}

FaultRecord AccessChecker::out_of_bounds(std::uintptr_t address, std::uint64_t size, AccessKind kind,
                                         std::uint32_t pc) const {
  FaultRecord record;
  record.kind = RecordKind::kOutOfBounds;
  record.pc = pc;
  record.address = address;
  record.size = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, 1u << 30));
  record.is_write = kind.is_write;
  const auto near = [&](std::uintptr_t begin, std::uint64_t bytes, Region region) {
    if (bytes == 0 || address + kNearShared < begin || address > begin + bytes + kNearShared) return false;
    record.region = region;
    record.offset = static_cast<std::int64_t>(address - begin);
    record.region_bytes = bytes;
    return true;
  };
  if (near(block_->dynamic, block_->dynamic_bytes, Region::kDynamicShared)) return record;
  if (near(static_, static_bytes_, Region::kStaticShared)) return record;
  if (const MemoryRange* buffer = memory_->nearest_buffer(address)) {
    record.region = Region::kBuffer;
    record.buffer = buffer->buffer;
    record.offset = static_cast<std::int64_t>(address - buffer->begin);
    record.region_bytes = buffer->end - buffer->begin;
  }
  return record;
}

void report_access(const void* address, std::uint64_t bytes, AccessKind kind, const void* pc) {
  BlockRunner* runner = current_runner();
  if (runner == nullptr || runner->checker() == nullptr) return;
  auto record = runner->checker()->access(runner->current_thread(), reinterpret_cast<std::uintptr_t>(address),
                                          bytes, kind, pc);
  if (record) runner->fail(*record);
}

}  // namespace ak::cpu
