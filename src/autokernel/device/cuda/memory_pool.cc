#include "autokernel/device/cuda/memory_pool.h"

namespace ak::cuda {
namespace {

constexpr double kShare = 0.8;  ///< of the free memory

AllocationProperties properties(DeviceOrdinal device) {
  AllocationProperties result;
  result.location.id = device;
  return result;
}

}  // namespace

Result<MemoryPool> MemoryPool::create(const DriverApi& api, DeviceOrdinal device) {
  MemoryPool pool(api, device);
  const AllocationProperties wanted = properties(device);
  std::size_t granule = 0, free = 0, total = 0;
  AK_TRY_VOID(api.check(api.mem_granularity(&granule, &wanted, 0), "ask for the granularity of memory"));
  AK_TRY_VOID(api.check(api.mem_get_info(&free, &total), "ask for free memory"));
  pool.granule_ = granule;
  pool.limit_ = static_cast<std::uint64_t>(kShare * static_cast<double>(free));
  return pool;
}

Result<MemoryBlock> MemoryPool::take(std::uint64_t bytes, Use use) {
  const std::uint64_t size = std::max<std::uint64_t>(1, (bytes + granule_ - 1) / granule_) * granule_;
  if (auto kept = free_.find({size, use}); kept != free_.end() && !kept->second.empty()) {
    MemoryBlock block = kept->second.back();
    kept->second.pop_back();
    kept_ -= size;
    in_use_ += size;
    return block;
  }
  if (in_use_ + kept_ + size > limit_) trim();
  if (in_use_ + size > limit_) {
    return environment_error(
        "{} MiB of device memory are needed, {} MiB are in use for this problem, and {} MiB (80 % of what "
        "was free) "
        "may be: use smaller dims, or free the GPU of other processes",
        size >> 20, in_use_ >> 20, limit_ >> 20);
  }
  AK_TRY(block, make(size, use));
  in_use_ += size;
  return block;
}

Result<MemoryBlock> MemoryPool::make(std::uint64_t bytes, Use use) {
  const AllocationProperties wanted = properties(device_);
  MemoryBlock block;
  block.bytes = bytes;
  DriverResult made = api_->mem_create(&block.handle, bytes, &wanted, 0);
  if (made == DriverResult::kOutOfMemory) {
    trim();
    made = api_->mem_create(&block.handle, bytes, &wanted, 0);
  }
  AK_TRY_VOID(api_->check(made, fmt::format("allocate {} MiB of device memory", bytes >> 20)));
  AK_TRY(write, map(block.handle, bytes, MemoryAccess::kReadWrite));
  block.write = write;
  if (use == Use::kReadOnly) {
    AK_TRY(read, map(block.handle, bytes, MemoryAccess::kRead));
    block.read = read;
  }
  return block;
}

/// The reservation has one granule more on each side, which nothing is ever mapped to.
Result<DevicePointer> MemoryPool::map(AllocationHandle handle, std::uint64_t bytes, MemoryAccess access) {
  DevicePointer base = 0;
  AK_TRY_VOID(
      api_->check(api_->address_reserve(&base, bytes + 2 * granule_, granule_, 0, 0), "reserve addresses"));
  const DevicePointer at = base + granule_;
  AK_TRY_VOID(api_->check(api_->mem_map(at, bytes, 0, handle, 0), "map device memory"));
  AccessDescription description;
  description.location.id = device_;
  description.flags = access;
  AK_TRY_VOID(
      api_->check(api_->mem_set_access(at, bytes, &description, 1), "set the access of device memory"));
  return at;
}

void MemoryPool::unmap(DevicePointer at, std::uint64_t bytes) {
  // Failures leave an address range behind, in a process that is about to end.
  static_cast<void>(api_->mem_unmap(at, bytes));
  static_cast<void>(api_->address_free(at - granule_, bytes + 2 * granule_));
}

void MemoryPool::release(const MemoryBlock& block) {
  unmap(block.write, block.bytes);
  if (block.read != 0) unmap(block.read, block.bytes);
  static_cast<void>(api_->mem_release(block.handle));
}

void MemoryPool::give_back(const MemoryBlock& block, Use use) {
  in_use_ -= block.bytes;
  kept_ += block.bytes;
  free_[{block.bytes, use}].push_back(block);
}

void MemoryPool::trim() {
  for (auto& [key, blocks] : free_) {
    for (const MemoryBlock& block : blocks) release(block);
  }
  free_.clear();
  kept_ = 0;
}

}  // namespace ak::cuda
