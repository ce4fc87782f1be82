#include "autokernel/device/cuda/driver_api.h"

#include <dlfcn.h>

#include <filesystem>
#include <initializer_list>

namespace ak::cuda {
namespace {

constexpr int kOldestDriver = 12000;

/// The first of the names that the dynamic linker finds.
Result<Library> open_first(std::initializer_list<const char*> names, const char* what, const char* remedy) {
  std::string tried;
  for (const char* name : names) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return Library(handle);
    const char* why = ::dlerror();
    tried += fmt::format("{}{}", tried.empty() ? "" : "; ", why != nullptr ? why : name);
  }
  return environment_error("cannot load {} ({}): {}", what, tried, remedy);
}

template <class Function>
Status find(const Library& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library.get(), name));
  if (function == nullptr)
    return environment_error("the NVIDIA driver has no function {}: CUDA 12.0 or newer is needed", name);
  return {};
}

}  // namespace

void CloseLibrary::operator()(void* handle) const { ::dlclose(handle); }

bool driver_present() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored) || std::filesystem::exists("/dev/dxg", ignored);
}

Result<DriverApi> DriverApi::load() {
  DriverApi api;
  AK_TRY(library, open_first({"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                              "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",
                              "/usr/lib/wsl/lib/libcuda.so.1"},
                             "the NVIDIA driver's libcuda.so.1",
                             "install the NVIDIA driver, or measure with --device cpu"));
  api.library_ = std::move(library);
#define AK_FIND(member, symbol) AK_TRY_VOID(find(api.library_, symbol, api.member))
  AK_FIND(init, "cuInit");
  AK_FIND(driver_get_version, "cuDriverGetVersion");
  AK_FIND(get_error_name, "cuGetErrorName");
  AK_FIND(get_error_string, "cuGetErrorString");
  AK_FIND(device_get_count, "cuDeviceGetCount");
  AK_FIND(device_get, "cuDeviceGet");
  AK_FIND(device_get_name, "cuDeviceGetName");
  AK_FIND(device_get_uuid, "cuDeviceGetUuid_v2");
  AK_FIND(device_total_mem, "cuDeviceTotalMem_v2");
  AK_FIND(device_get_attribute, "cuDeviceGetAttribute");
  AK_FIND(primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  AK_FIND(primary_ctx_release, "cuDevicePrimaryCtxRelease_v2");
  AK_FIND(ctx_set_current, "cuCtxSetCurrent");
  AK_FIND(ctx_reset_persisting_l2, "cuCtxResetPersistingL2Cache");
  AK_FIND(mem_get_info, "cuMemGetInfo_v2");
  AK_FIND(module_load_data, "cuModuleLoadData");
  AK_FIND(module_unload, "cuModuleUnload");
  AK_FIND(module_get_function, "cuModuleGetFunction");
  AK_FIND(func_get_attribute, "cuFuncGetAttribute");
  AK_FIND(func_set_attribute, "cuFuncSetAttribute");
  AK_FIND(occupancy_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  AK_FIND(launch_kernel_ex, "cuLaunchKernelEx");
  AK_FIND(tensor_map_encode, "cuTensorMapEncodeTiled");
  AK_FIND(stream_create, "cuStreamCreate");
  AK_FIND(stream_destroy, "cuStreamDestroy_v2");
  AK_FIND(stream_query, "cuStreamQuery");
  AK_FIND(stream_begin_capture, "cuStreamBeginCapture_v2");
  AK_FIND(stream_end_capture, "cuStreamEndCapture");
  AK_FIND(event_create, "cuEventCreate");
  AK_FIND(event_destroy, "cuEventDestroy_v2");
  AK_FIND(event_record, "cuEventRecord");
  AK_FIND(event_elapsed_time, "cuEventElapsedTime");
  AK_FIND(graph_instantiate, "cuGraphInstantiateWithFlags");
  AK_FIND(graph_destroy, "cuGraphDestroy");
  AK_FIND(graph_exec_destroy, "cuGraphExecDestroy");
  AK_FIND(graph_upload, "cuGraphUpload");
  AK_FIND(graph_launch, "cuGraphLaunch");
  AK_FIND(mem_alloc, "cuMemAlloc_v2");
  AK_FIND(mem_free, "cuMemFree_v2");
  AK_FIND(memcpy_to_device, "cuMemcpyHtoDAsync_v2");
  AK_FIND(memcpy_to_host, "cuMemcpyDtoH_v2");
  AK_FIND(memset_words, "cuMemsetD32Async");
  AK_FIND(memset_bytes, "cuMemsetD8Async");
  AK_FIND(address_reserve, "cuMemAddressReserve");
  AK_FIND(address_free, "cuMemAddressFree");
  AK_FIND(mem_create, "cuMemCreate");
  AK_FIND(mem_release, "cuMemRelease");
  AK_FIND(mem_map, "cuMemMap");
  AK_FIND(mem_unmap, "cuMemUnmap");
  AK_FIND(mem_set_access, "cuMemSetAccess");
  AK_FIND(mem_granularity, "cuMemGetAllocationGranularity");
#undef AK_FIND
  AK_TRY_VOID(api.check(api.init(0), "initialise the NVIDIA driver"));
  AK_TRY_VOID(api.check(api.driver_get_version(&api.version), "ask the driver for its version"));
  if (api.version < kOldestDriver) {
    return environment_error("the NVIDIA driver supports CUDA {}.{}, 12.0 is needed: install a newer driver",
                             api.version / 1000, api.version % 1000 / 10);
  }
  return api;
}

std::string DriverApi::describe(DriverResult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  get_error_name(result, &name);
  get_error_string(result, &text);
  return fmt::format("{} ({}): {}", name != nullptr ? name : "unknown error", static_cast<int>(result),
                     text != nullptr ? text : "the driver does not know this error");
}

Status DriverApi::check(DriverResult result, std::string_view what) const {
  if (result == DriverResult::kSuccess) return {};
  return environment_error("cannot {}: {}", what, describe(result));
}

Result<NvmlApi> NvmlApi::load() {
  NvmlApi api;
  AK_TRY(library, open_first({"libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1"},
                             "NVML (libnvidia-ml.so.1)", "it comes with the NVIDIA driver"));
  api.library_ = std::move(library);
  int (*init)() = nullptr;
  AK_TRY_VOID(find(api.library_, "nvmlInit_v2", init));
  AK_TRY_VOID(find(api.library_, "nvmlDeviceGetHandleByUUID", api.handle_by_uuid_));
  AK_TRY_VOID(find(api.library_, "nvmlDeviceGetClockInfo", api.clock_info_));
  AK_TRY_VOID(find(api.library_, "nvmlDeviceGetCurrentClocksThrottleReasons", api.reasons_));
  if (const int error = init(); error != 0) return environment_error("NVML does not start (error {})", error);
  AK_TRY_VOID(find(api.library_, "nvmlShutdown", api.shutdown_));
  return api;
}

NvmlApi::NvmlApi(NvmlApi&& other) noexcept
    : library_(std::move(other.library_)),
      shutdown_(std::exchange(other.shutdown_, nullptr)),
      handle_by_uuid_(other.handle_by_uuid_),
      clock_info_(other.clock_info_),
      reasons_(other.reasons_) {}

NvmlApi::~NvmlApi() {
  if (shutdown_ != nullptr) shutdown_();
}

Result<NvmlApi::State> NvmlApi::state_of(const std::string& uuid) const {
  void* device = nullptr;
  if (const int error = handle_by_uuid_(uuid.c_str(), &device); error != 0) {
    return environment_error("NVML does not know the device {} (error {})", uuid, error);
  }
  State state;
  constexpr int kSmClock = 1;
  const int clock = clock_info_(device, kSmClock, &state.sm_mhz);
  const int reasons = reasons_(device, &state.throttle_reasons);
  if (clock != 0 || reasons != 0)
    return environment_error("NVML does not tell clocks (errors {}, {})", clock, reasons);
  return state;
}

bool NvmlApi::slows(unsigned long long reasons) {
  // nvml.h: sw power cap 0x4, hw slowdown 0x8, sw thermal 0x20, hw thermal 0x40, hw power brake 0x80.
  constexpr unsigned long long kSlow = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;
  return (reasons & kSlow) != 0;
}

}  // namespace ak::cuda
