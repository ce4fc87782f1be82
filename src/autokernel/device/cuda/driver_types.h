#pragma once
// The part of the CUDA driver's binary interface that we use, declared by us: cuda.h need not be there.
// tests/unit/device_cuda/driver_types_check.cc compares every value and size with cuda.h where a toolkit is.

#include <cstddef>
#include <cstdint>

namespace ak::cuda {

using DevicePointer = std::uint64_t;
using DeviceOrdinal = int;
struct ContextTag;
struct ModuleTag;
struct FunctionTag;
struct StreamTag;
struct EventTag;
struct GraphTag;
struct GraphNodeTag;
struct GraphExecTag;
using ContextHandle = ContextTag*;
using ModuleHandle = ModuleTag*;
using FunctionHandle = FunctionTag*;
using StreamHandle = StreamTag*;
using EventHandle = EventTag*;
using GraphHandle = GraphTag*;
using GraphNodeHandle = GraphNodeTag*;
using GraphExecHandle = GraphExecTag*;
using AllocationHandle = unsigned long long;

/// Values of CUresult that are told apart.
enum class DriverResult : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNoDevice = 100,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kCooperativeLaunchTooLarge = 720,
  kInvalidClusterSize = 912,
};

enum class DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxBlockY = 3,
  kMaxBlockZ = 4,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kSharedBytesPerBlock = 8,
  kWarpSize = 10,
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kMaxThreadsPerMultiprocessor = 39,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kSharedBytesPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kCooperativeLaunch = 95,
  kSharedBytesPerBlockOptIn = 97,
  kVirtualMemory = 102,
  kClusterLaunch = 120,
  kTensorMaps = 127,
};

enum class FunctionAttribute : int {
  kSharedBytes = 1,
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicSharedBytes = 8,
  kNonPortableClusterSize = 14,
};

struct Uuid {
  unsigned char bytes[16];
};

// ---- virtual memory ----

struct MemoryLocation {
  int type = 1;  ///< CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
};

struct AllocationProperties {
  int type = 1;  ///< CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;
  MemoryLocation location;
  void* win32_meta_data = nullptr;
  unsigned char flags[8] = {};
};

enum class MemoryAccess : int { kRead = 1, kReadWrite = 3 };

struct AccessDescription {
  MemoryLocation location;
  MemoryAccess flags = MemoryAccess::kReadWrite;
};

// ---- launches ----

struct LaunchAttribute {
  enum Id : int { kCooperative = 2, kClusterDimension = 4 };
  int id = 0;
  char pad[4] = {};
  union {
    alignas(8) char bytes[64];
    int cooperative;
    unsigned int cluster[3];
  } value = {};
};

struct LaunchConfig {
  unsigned int grid[3] = {1, 1, 1};
  unsigned int block[3] = {1, 1, 1};
  unsigned int shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned int attribute_count = 0;
};

/// CUtensorMap: opaque, written by cuTensorMapEncodeTiled.
struct alignas(128) TensorMapDescriptor {
  std::uint64_t words[16];
};

enum class TensorMapType : int { kI32 = 3, kI64 = 5, kF16 = 6, kF32 = 7, kF64 = 8, kBF16 = 9 };
enum class TensorMapSwizzle : int { kNone = 0, k32 = 1, k64 = 2, k128 = 3 };
inline constexpr int kTensorMapPromote128 = 2;  ///< CU_TENSOR_MAP_L2_PROMOTION_L2_128B

inline constexpr unsigned int kStreamNonBlocking = 1;
inline constexpr int kCaptureThreadLocal = 1;

}  // namespace ak::cuda
