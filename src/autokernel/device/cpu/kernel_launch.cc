#include "autokernel/device/cpu/kernel_launch.h"

#include <algorithm>

namespace ak::cpu {

void RunnerNeeds::include(const RunnerNeeds& other) {
  fibers = std::max(fibers, other.fibers);
  resident_blocks = std::max(resident_blocks, other.resident_blocks);
  threads = std::max(threads, other.threads);
  shared_bytes = std::max(shared_bytes, other.shared_bytes);
}

bool RunnerNeeds::covers(const RunnerNeeds& other) const {
  return fibers >= other.fibers && resident_blocks >= other.resident_blocks && threads >= other.threads &&
         shared_bytes >= other.shared_bytes;
}

RunnerNeeds RunnerNeeds::of(const KernelLaunch& launch, std::uint32_t workers) {
  RunnerNeeds needs;
  needs.threads = launch.threads();
  needs.shared_bytes = launch.shared_bytes;
  if (!launch.as_fibers()) return needs;
  needs.fibers = needs.threads;
  if (launch.cooperative) {
    const std::uint64_t blocks = std::min<std::uint64_t>(launch.blocks(), kMaxResidentThreads);
    needs.resident_blocks = static_cast<std::uint32_t>((blocks + workers - 1) / workers);
    needs.fibers = needs.threads * needs.resident_blocks;
  }
  return needs;
}

}  // namespace ak::cpu
