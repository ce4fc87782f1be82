#include "autokernel/device/cuda/cuda_buffer.h"

namespace ak::cuda {
namespace {

using device::Access;
using device::Guard;

constexpr std::uint64_t kZoneBytes = 64 * 1024;

bool guarded(const device::BufferSpec& spec) { return spec.access != Access::kHidden; }

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Use use_of(const device::BufferSpec& spec) {
  switch (spec.access) {
    case Access::kHidden:
      return Use::kHidden;
    case Access::kReadOnly:
      return Use::kReadOnly;
    case Access::kReadWrite:
      break;
  }
  return Use::kReadWrite;
}

std::uint64_t block_bytes(const device::BufferSpec& spec) {
  if (!guarded(spec)) return spec.bytes;
  const std::uint64_t zones = spec.guard == Guard::kRedZone ? 2 * kZoneBytes : 0;
  return spec.bytes + spec.skew + spec.alignment + zones;
}

CudaBuffer place(const device::BufferSpec& spec, const MemoryBlock& block, std::uint64_t seed) {
  CudaBuffer buffer{spec, block, 0, {}};
  if (!guarded(spec)) return buffer;
  const std::uint64_t alignment = std::max<std::uint64_t>(1, spec.alignment);
  switch (spec.guard) {
    case Guard::kRedZone:
      buffer.offset = round_up(kZoneBytes, alignment) + spec.skew;
      break;
    case Guard::kStartFlush:
      buffer.offset = spec.skew;
      break;
    case Guard::kEndFlush:  // the last place that the alignment allows
      buffer.offset = (block.bytes - spec.bytes) / alignment * alignment;
      if (spec.skew != 0) buffer.offset = buffer.offset - alignment + spec.skew % alignment;
      break;
  }
  const std::uint64_t end = buffer.offset + spec.bytes;
  const std::uint64_t before = std::min(buffer.offset, kZoneBytes);
  const std::uint64_t after = std::min(block.bytes - end, kZoneBytes);
  if (before != 0) buffer.zones.push_back({block.write + buffer.offset - before, before, seed});
  if (after != 0) buffer.zones.push_back({block.write + end, after, seed ^ 0x5851f42d4c957f2dULL});
  return buffer;
}

}  // namespace ak::cuda
