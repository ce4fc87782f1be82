# ak_export_cpu_runtime(<executable>): links the CPU device and exports the functions that compiled kernels import
# (src/autokernel/device/cpu/abi.h), so that a dlopen'ed module finds them in the executable, static or not.
# The executable's main must call ak::cpu::jail_main() when its first argument is "__jail".
set(AK_CPU_RUNTIME_SYMBOLS
    ak_rt_barrier ak_rt_barrier_count ak_rt_warp_barrier ak_rt_warp_exchange ak_rt_active_mask
    ak_rt_dynamic_shared ak_rt_grid_barrier ak_rt_yield ak_rt_trap ak_rt_atomic __sanitizer_cov_trace_pc)
if(NOT AUTOKERNEL_SANITIZE MATCHES "address")
  foreach(size 1 2 4 8 16 N)
    list(APPEND AK_CPU_RUNTIME_SYMBOLS __asan_load${size}_noabort __asan_store${size}_noabort)
  endforeach()
  list(APPEND AK_CPU_RUNTIME_SYMBOLS __asan_handle_no_return __ubsan_handle_out_of_bounds
       __ubsan_handle_out_of_bounds_abort)
endif()

function(ak_export_cpu_runtime target)
  target_link_libraries(${target} PRIVATE ak_device_cpu)
  foreach(symbol ${AK_CPU_RUNTIME_SYMBOLS})
    target_link_options(${target} PRIVATE "LINKER:-u,${symbol}" "LINKER:--export-dynamic-symbol=${symbol}")
  endforeach()
endfunction()
