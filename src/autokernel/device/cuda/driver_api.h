#pragma once
// libcuda and NVML behind dlopen: the functions that we call, declared by us. One binary runs with and
// without a driver; what was searched is in the error.

#include <memory>
#include <string>

#include "autokernel/base/result.h"
#include "autokernel/device/cuda/driver_types.h"

namespace ak::cuda {

struct CloseLibrary {
  void operator()(void* handle) const;
};
using Library = std::unique_ptr<void, CloseLibrary>;

/// True where an NVIDIA driver seems to be at work: asks the file system only, initialises nothing.
bool driver_present();

/// The table of the driver's functions; valid while the object lives.
class DriverApi {
 public:
  /// Loads libcuda.so.1 and initialises it. Fails when it is missing, too old (before 12.0) or finds no
  /// device.
  static Result<DriverApi> load();

  int version = 0;  ///< of CUDA that the driver supports: 13000 is 13.0

  using R = DriverResult;
  R (*init)(unsigned int flags) = nullptr;
  R (*driver_get_version)(int*) = nullptr;
  R (*get_error_name)(R, const char**) = nullptr;
  R (*get_error_string)(R, const char**) = nullptr;
  R (*device_get_count)(int*) = nullptr;
  R (*device_get)(DeviceOrdinal*, int) = nullptr;
  R (*device_get_name)(char*, int, DeviceOrdinal) = nullptr;
  R (*device_get_uuid)(Uuid*, DeviceOrdinal) = nullptr;
  R (*device_total_mem)(std::size_t*, DeviceOrdinal) = nullptr;
  R (*device_get_attribute)(int*, DeviceAttribute, DeviceOrdinal) = nullptr;
  R (*primary_ctx_retain)(ContextHandle*, DeviceOrdinal) = nullptr;
  R (*primary_ctx_release)(DeviceOrdinal) = nullptr;
  R (*ctx_set_current)(ContextHandle) = nullptr;
  R (*ctx_reset_persisting_l2)() = nullptr;
  R (*mem_get_info)(std::size_t* free, std::size_t* total) = nullptr;
  R (*module_load_data)(ModuleHandle*, const void*) = nullptr;
  R (*module_unload)(ModuleHandle) = nullptr;
  R (*module_get_function)(FunctionHandle*, ModuleHandle, const char*) = nullptr;
  R (*func_get_attribute)(int*, FunctionAttribute, FunctionHandle) = nullptr;
  R (*func_set_attribute)(FunctionHandle, FunctionAttribute, int) = nullptr;
  R (*occupancy_blocks)(int*, FunctionHandle, int block, std::size_t shared_bytes) = nullptr;
  R (*launch_kernel_ex)(const LaunchConfig*, FunctionHandle, void** params, void** extra) = nullptr;
  R (*tensor_map_encode)(TensorMapDescriptor*, TensorMapType, std::uint32_t rank, void* address,
                         const std::uint64_t* sizes, const std::uint64_t* strides, const std::uint32_t* box,
                         const std::uint32_t* element_strides, int interleave, TensorMapSwizzle,
                         int promotion, int fill) = nullptr;
  R (*stream_create)(StreamHandle*, unsigned int flags) = nullptr;
  R (*stream_destroy)(StreamHandle) = nullptr;
  R (*stream_query)(StreamHandle) = nullptr;
  R (*stream_begin_capture)(StreamHandle, int mode) = nullptr;
  R (*stream_end_capture)(StreamHandle, GraphHandle*) = nullptr;
  R (*event_create)(EventHandle*, unsigned int flags) = nullptr;
  R (*event_destroy)(EventHandle) = nullptr;
  R (*event_record)(EventHandle, StreamHandle) = nullptr;
  R (*event_elapsed_time)(float* ms, EventHandle from, EventHandle to) = nullptr;
  R (*graph_instantiate)(GraphExecHandle*, GraphHandle, unsigned long long flags) = nullptr;
  R (*graph_destroy)(GraphHandle) = nullptr;
  R (*graph_exec_destroy)(GraphExecHandle) = nullptr;
  R (*graph_upload)(GraphExecHandle, StreamHandle) = nullptr;
  R (*graph_launch)(GraphExecHandle, StreamHandle) = nullptr;
  R (*mem_alloc)(DevicePointer*, std::size_t) = nullptr;
  R (*mem_free)(DevicePointer) = nullptr;
  R (*memcpy_to_device)(DevicePointer, const void*, std::size_t, StreamHandle) = nullptr;
  R (*memcpy_to_host)(void*, DevicePointer, std::size_t) = nullptr;
  R (*memset_words)(DevicePointer, unsigned int, std::size_t, StreamHandle) = nullptr;
  R (*memset_bytes)(DevicePointer, unsigned char, std::size_t, StreamHandle) = nullptr;
  R (*address_reserve)(DevicePointer*, std::size_t size, std::size_t alignment, DevicePointer hint,
                       unsigned long long flags) = nullptr;
  R (*address_free)(DevicePointer, std::size_t) = nullptr;
  R (*mem_create)(AllocationHandle*, std::size_t, const AllocationProperties*, unsigned long long) = nullptr;
  R (*mem_release)(AllocationHandle) = nullptr;
  R (*mem_map)(DevicePointer, std::size_t, std::size_t offset, AllocationHandle,
               unsigned long long) = nullptr;
  R (*mem_unmap)(DevicePointer, std::size_t) = nullptr;
  R (*mem_set_access)(DevicePointer, std::size_t, const AccessDescription*, std::size_t) = nullptr;
  R (*mem_granularity)(std::size_t*, const AllocationProperties*, int option) = nullptr;

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
  std::string describe(DriverResult result) const;
  /// An environment error "cannot <what>: <describe>" unless the result is a success.
  Status check(DriverResult result, std::string_view what) const;

 private:
  Library library_;
};

/// What NVML says beside the driver; absent where the library or the device is not there.
class NvmlApi {
 public:
  static Result<NvmlApi> load();
  NvmlApi(NvmlApi&& other) noexcept;
  NvmlApi& operator=(NvmlApi&&) = delete;
  ~NvmlApi();

  struct State {
    unsigned int sm_mhz = 0;
    unsigned long long throttle_reasons = 0;  ///< bits of nvmlClocksEventReasons; 1 is "idle"
  };
  /// By the uuid "GPU-...".
  Result<State> state_of(const std::string& uuid) const;
  /// Reasons that slow a kernel down (power and thermal limits, not "idle" or application clocks).
  static bool slows(unsigned long long reasons);

 private:
  NvmlApi() = default;
  Library library_;
  int (*shutdown_)() = nullptr;
  int (*handle_by_uuid_)(const char*, void**) = nullptr;
  int (*clock_info_)(void*, int type, unsigned int*) = nullptr;
  int (*reasons_)(void*, unsigned long long*) = nullptr;
};

}  // namespace ak::cuda
