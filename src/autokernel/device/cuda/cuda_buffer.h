#pragma once
// Where a buffer's bytes lie in its block, and the zones around them that nobody may touch.

#include <vector>

#include "autokernel/device/cuda/memory_pool.h"
#include "autokernel/device/device.h"

namespace ak::cuda {

/// Bytes of a known pattern; the same layout as in kernels/device.cu.
struct Zone {
  DevicePointer at = 0;
  std::uint64_t bytes = 0, seed = 0;
};

struct CudaBuffer {
  device::BufferSpec spec;
  MemoryBlock block;
  std::uint64_t offset = 0;  ///< of the first byte in the block
  std::vector<Zone> zones;   ///< the one before the buffer first

  DevicePointer trusted() const { return block.write + offset; }
  DevicePointer candidate() const { return (block.read != 0 ? block.read : block.write) + offset; }
};

Use use_of(const device::BufferSpec& spec);
/// How large a block the buffer needs.
std::uint64_t block_bytes(const device::BufferSpec& spec);
/// Places the buffer in a block of at least that size.
CudaBuffer place(const device::BufferSpec& spec, const MemoryBlock& block, std::uint64_t seed);

}  // namespace ak::cuda
