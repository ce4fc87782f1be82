#pragma once
// The contract between a compiled module (a shared object made by CpuCompiler from CUDA C++) and the runtime
// that runs it (jail or, for trusted code, the runner). Included by both sides: plain C types only.
//
// A module exports one symbol, `ak_module` (an AkModule). It imports only math functions,
// memcpy/memset/memmove and the ak_rt_* functions below (checked builds: __asan_*_noabort,
// __ubsan_handle_out_of_bounds* as well; kernels that spin on volatile data: __sanitizer_cov_trace_pc). Which
// of them it imports says what it needs: a module that imports no blocking function (barrier, warp, yield) is
// run as a plain loop through `block`.

#include <stdint.h>

#define AK_CPU_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AkDim3 {
  uint32_t x, y, z;
} AkDim3;

/// threadIdx and friends of the calling OS thread; the runtime writes them before it runs or resumes a
/// kernel.
typedef struct AkBuiltins {
  AkDim3 thread_idx, block_idx, block_dim, grid_dim;
} AkBuiltins;

typedef struct AkEntry {
  const char* name;
  uint32_t param_count;
  const uint32_t* param_bytes;    ///< sizeof each kernel parameter
  void (*thread)(void** params);  ///< the kernel for the current builtins: one CUDA thread
  void (*block)(void** params);   ///< all threads of the current block, one after another, as a loop
} AkEntry;

typedef struct AkModule {
  uint32_t abi;  ///< AK_CPU_ABI
  uint32_t entry_count;
  const AkEntry* entries;         ///< in the order of Source::entries
  AkBuiltins* (*builtins)(void);  ///< of the calling OS thread (thread-local storage of the module)
  /// Static __shared__ memory is thread-local storage of the module, one copy an OS thread: the range for the
  /// calling OS thread. Calling it once per OS thread also allocates the storage, which must happen before
  /// the jail closes. Checked builds must reach __shared__ variables through a reference whose origin the
  /// compiler cannot see (asm volatile("" : "+r"(pointer))): g++ does not instrument thread-local accesses at
  /// constant offsets (s[0], scalars), which would then look like missing writes.
  void (*shared_range)(void** begin, uint64_t* bytes);
} AkModule;

// ---- what the runtime offers to modules ----
void ak_rt_barrier(void);                ///< __syncthreads
int ak_rt_barrier_count(int predicate);  ///< __syncthreads_count; _and and _or derive from it
void ak_rt_warp_barrier(uint32_t mask);  ///< __syncwarp
/// Every lane of `mask` deposits `value`, waits for the others, and receives all 32 values (lanes outside the
/// mask or exited: 0). Returns the mask of the lanes that took part. Shuffles, votes, matches and reductions
/// derive from it.
uint32_t ak_rt_warp_exchange(uint32_t mask, uint64_t value, uint64_t values[32]);
uint32_t ak_rt_active_mask(void);
void* ak_rt_dynamic_shared(void);  ///< of the current block, 1024-byte aligned
void ak_rt_grid_barrier(void);     ///< cooperative launches; a fault elsewhere
void ak_rt_yield(void);            ///< atomics, __nanosleep, volatile accesses
void ak_rt_trap(void);             ///< __trap, failed assert
/// Checked builds only: announces an atomic or volatile access whose own instrumentation is off (a function
/// with no_sanitize_address). Bounds and initialisation are checked as for other accesses; it never races,
/// and two threads that both made such accesses after a plain access count as ordered (locks, flags).
void ak_rt_atomic(const void* address, uint32_t bytes, int is_store);
/// A spin-wait may call this in every basic block (-fsanitize-coverage=trace-pc): yields now and then.
void __sanitizer_cov_trace_pc(void);

#ifdef __cplusplus
}
#endif
