// What g++ calls in a checked build (-fsanitize=kernel-address,bounds with outlined checks). AddressSanitizer
// and UndefinedBehaviorSanitizer define the same names, so builds of ours with one of them have no checked
// builds of kernels.

#include <cstdio>
#include <cstring>

#include "autokernel/device/cpu/block_runner.h"
#include "autokernel/device/cpu/checked_access.h"

#if !defined(__SANITIZE_ADDRESS__)

#define AK_RUNTIME extern "C" __attribute__((visibility("default"), noinline, used))

namespace {

using ak::cpu::AccessKind;
using ak::cpu::report_access;
constexpr AccessKind kLoad{false, false};
constexpr AccessKind kStore{true, false};

/// The head of what g++ passes for -fsanitize=bounds (UBSan's OutOfBoundsData).
struct OutOfBoundsData {
  const char* file;
  unsigned line, column;
  const struct TypeDescriptor {
    unsigned short kind, info;
    char name[1];
  }* array_type;
};

void index_out_of_bounds(const OutOfBoundsData* data, std::uint64_t index, const void* pc) {
  ak::cpu::BlockRunner* runner = ak::cpu::current_runner();
  if (runner == nullptr) return;
  ak::cpu::FaultRecord record;
  record.kind = ak::cpu::RecordKind::kOutOfBounds;
  record.detail = static_cast<std::int32_t>(index);
  // The compiler's own location is better than the line table's entry for such calls.
  const char* slash = data->file != nullptr ? std::strrchr(data->file, '/') : nullptr;
  const char* file = slash != nullptr ? slash + 1 : data->file;
  if (file == nullptr) record.pc = runner->module_offset(pc);
  std::snprintf(record.note, sizeof(record.note), file != nullptr ? "%s at %s:%u" : "%s",
                data->array_type->name, file, data->line);
  runner->fail(record);
}

}  // namespace

#define AK_SIZED(size)                                                 \
  AK_RUNTIME void __asan_load##size##_noabort(const void* address) {   \
    report_access(address, size, kLoad, __builtin_return_address(0));  \
  }                                                                    \
  AK_RUNTIME void __asan_store##size##_noabort(const void* address) {  \
    report_access(address, size, kStore, __builtin_return_address(0)); \
  }
AK_SIZED(1)
AK_SIZED(2)
AK_SIZED(4)
AK_SIZED(8)
AK_SIZED(16)

AK_RUNTIME void __asan_loadN_noabort(const void* address, std::size_t bytes) {
  report_access(address, bytes, kLoad, __builtin_return_address(0));
}
AK_RUNTIME void __asan_storeN_noabort(const void* address, std::size_t bytes) {
  report_access(address, bytes, kStore, __builtin_return_address(0));
}
AK_RUNTIME void __asan_handle_no_return(void) {}

AK_RUNTIME void __ubsan_handle_out_of_bounds(const OutOfBoundsData* data, std::uint64_t index) {
  index_out_of_bounds(data, index, __builtin_return_address(0));
}
AK_RUNTIME void __ubsan_handle_out_of_bounds_abort(const OutOfBoundsData* data, std::uint64_t index) {
  index_out_of_bounds(data, index, __builtin_return_address(0));
}

#endif
