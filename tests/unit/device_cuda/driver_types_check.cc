// Compiled where a CUDA toolkit is (see CMakeLists.txt): our declarations against cuda.h, value by value.
#include <cuda.h>

#include "autokernel/device/cuda/driver_types.h"

namespace ak::cuda {

#define AK_SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

AK_SAME(DriverResult::kSuccess, CUDA_SUCCESS);
AK_SAME(DriverResult::kInvalidValue, CUDA_ERROR_INVALID_VALUE);
AK_SAME(DriverResult::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
AK_SAME(DriverResult::kNoDevice, CUDA_ERROR_NO_DEVICE);
AK_SAME(DriverResult::kNotReady, CUDA_ERROR_NOT_READY);
AK_SAME(DriverResult::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
AK_SAME(DriverResult::kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
AK_SAME(DriverResult::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
AK_SAME(DriverResult::kAssert, CUDA_ERROR_ASSERT);
AK_SAME(DriverResult::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
AK_SAME(DriverResult::kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
AK_SAME(DriverResult::kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
AK_SAME(DriverResult::kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
AK_SAME(DriverResult::kInvalidPc, CUDA_ERROR_INVALID_PC);
AK_SAME(DriverResult::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
AK_SAME(DriverResult::kCooperativeLaunchTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
AK_SAME(DriverResult::kInvalidClusterSize, CUDA_ERROR_INVALID_CLUSTER_SIZE);

AK_SAME(DeviceAttribute::kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
AK_SAME(DeviceAttribute::kMaxBlockX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
AK_SAME(DeviceAttribute::kMaxBlockY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
AK_SAME(DeviceAttribute::kMaxBlockZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
AK_SAME(DeviceAttribute::kMaxGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
AK_SAME(DeviceAttribute::kMaxGridY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
AK_SAME(DeviceAttribute::kMaxGridZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
AK_SAME(DeviceAttribute::kSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
AK_SAME(DeviceAttribute::kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
AK_SAME(DeviceAttribute::kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
AK_SAME(DeviceAttribute::kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
AK_SAME(DeviceAttribute::kMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
AK_SAME(DeviceAttribute::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
AK_SAME(DeviceAttribute::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
AK_SAME(DeviceAttribute::kSharedBytesPerMultiprocessor,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
AK_SAME(DeviceAttribute::kRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
AK_SAME(DeviceAttribute::kCooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
AK_SAME(DeviceAttribute::kSharedBytesPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
AK_SAME(DeviceAttribute::kVirtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
AK_SAME(DeviceAttribute::kClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
AK_SAME(DeviceAttribute::kTensorMaps, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);

AK_SAME(FunctionAttribute::kSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
AK_SAME(FunctionAttribute::kLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
AK_SAME(FunctionAttribute::kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
AK_SAME(FunctionAttribute::kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
AK_SAME(FunctionAttribute::kNonPortableClusterSize, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);

AK_SAME(MemoryAccess::kRead, CU_MEM_ACCESS_FLAGS_PROT_READ);
AK_SAME(MemoryAccess::kReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
AK_SAME(LaunchAttribute::kCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
AK_SAME(LaunchAttribute::kClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
AK_SAME(TensorMapType::kI32, CU_TENSOR_MAP_DATA_TYPE_INT32);
AK_SAME(TensorMapType::kI64, CU_TENSOR_MAP_DATA_TYPE_INT64);
AK_SAME(TensorMapType::kF16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
AK_SAME(TensorMapType::kF32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
AK_SAME(TensorMapType::kF64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
AK_SAME(TensorMapType::kBF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
AK_SAME(TensorMapSwizzle::k128, CU_TENSOR_MAP_SWIZZLE_128B);
AK_SAME(kTensorMapPromote128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
AK_SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
AK_SAME(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
AK_SAME(MemoryLocation().type, CU_MEM_LOCATION_TYPE_DEVICE);
AK_SAME(AllocationProperties().type, CU_MEM_ALLOCATION_TYPE_PINNED);

static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(TensorMapDescriptor) == sizeof(CUtensorMap));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));

#undef AK_SAME

}  // namespace ak::cuda
