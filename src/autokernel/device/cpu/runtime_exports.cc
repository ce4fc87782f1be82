// The functions of abi.h. `noinline` and the return address name the kernel's line in reports.

#include <cstdint>

#include "autokernel/device/cpu/abi.h"
#include "autokernel/device/cpu/block_runner.h"
#include "autokernel/device/cpu/checked_access.h"

#define AK_RUNTIME extern "C" __attribute__((visibility("default"), noinline, used))

namespace {

constexpr std::uint32_t kBasicBlocksPerYield = 256;
thread_local std::uint32_t t_basic_blocks __attribute__((tls_model("initial-exec"))) = 0;

ak::cpu::BlockRunner& runner() { return *ak::cpu::current_runner(); }

}  // namespace

AK_RUNTIME void ak_rt_barrier(void) { runner().barrier(__builtin_return_address(0)); }
AK_RUNTIME int ak_rt_barrier_count(int predicate) {
  return runner().barrier_count(predicate, __builtin_return_address(0));
}
AK_RUNTIME void ak_rt_warp_barrier(uint32_t mask) {
  runner().warp_exchange(mask, 0, nullptr, __builtin_return_address(0));
}
AK_RUNTIME uint32_t ak_rt_warp_exchange(uint32_t mask, uint64_t value, uint64_t values[32]) {
  return runner().warp_exchange(mask, value, values, __builtin_return_address(0));
}
AK_RUNTIME uint32_t ak_rt_active_mask(void) { return runner().active_mask(__builtin_return_address(0)); }
AK_RUNTIME void* ak_rt_dynamic_shared(void) { return runner().dynamic_shared(); }
AK_RUNTIME void ak_rt_grid_barrier(void) { runner().grid_barrier(__builtin_return_address(0)); }
AK_RUNTIME void ak_rt_yield(void) { runner().yield(); }
AK_RUNTIME void ak_rt_trap(void) { runner().trap(__builtin_return_address(0)); }
AK_RUNTIME void ak_rt_atomic(const void* address, uint32_t bytes, int is_store) {
  ak::cpu::report_access(address, bytes, ak::cpu::AccessKind{is_store != 0, true},
                         __builtin_return_address(0));
}
AK_RUNTIME void __sanitizer_cov_trace_pc(void) {
  if (++t_basic_blocks % kBasicBlocksPerYield == 0 && ak::cpu::current_runner() != nullptr) runner().yield();
}
