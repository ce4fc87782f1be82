#pragma once
// Device memory as blocks of virtual memory with unmapped pages on both sides. A block may be mapped twice:
// once for trusted code, once read-only for candidates. Blocks are kept for reuse, since mapping costs more
// than a launch.

#include <map>
#include <utility>
#include <vector>

#include "autokernel/device/cuda/driver_api.h"

namespace ak::cuda {

struct MemoryBlock {
  std::uint64_t bytes = 0;  ///< a multiple of the granule
  AllocationHandle handle = 0;
  DevicePointer write = 0;  ///< where trusted code (and candidates, unless `read` is set) may write
  DevicePointer read = 0;   ///< the same memory, read-only; 0: not mapped so
};

/// How a block is mapped and who may see it.
enum class Use {
  kHidden,    ///< trusted code only
  kReadOnly,  ///< candidates read it through a mapping of their own
  kReadWrite,
};

class MemoryPool {
 public:
  /// Uses at most 80 % of the memory that is free now.
  static Result<MemoryPool> create(const DriverApi& api, DeviceOrdinal device);

  /// At least `bytes`. kEnvironment, with the numbers, when that does not fit.
  Result<MemoryBlock> take(std::uint64_t bytes, Use use);
  /// A block of one use never serves another: hidden contents must not show in what candidates see.
  void give_back(const MemoryBlock& block, Use use);
  /// Gives the driver back what nobody uses.
  void trim();

  std::uint64_t granule() const { return granule_; }
  std::uint64_t limit_bytes() const { return limit_; }

 private:
  MemoryPool(const DriverApi& api, DeviceOrdinal device) : api_(&api), device_(device) {}
  Result<MemoryBlock> make(std::uint64_t bytes, Use use);
  Result<DevicePointer> map(AllocationHandle handle, std::uint64_t bytes, MemoryAccess access);
  void unmap(DevicePointer at, std::uint64_t bytes);
  void release(const MemoryBlock& block);

  const DriverApi* api_;
  DeviceOrdinal device_;
  std::uint64_t granule_ = 0, limit_ = 0, in_use_ = 0, kept_ = 0;
  std::map<std::pair<std::uint64_t, Use>, std::vector<MemoryBlock>> free_;
};

}  // namespace ak::cuda
