// Steps of the CUDA device: launches, fills, scrubs, and what becomes of a fault.

#include <algorithm>
#include <cstring>
#include <thread>

#include "autokernel/device/cuda/cuda_device_state.h"

namespace ak::cuda {

using device::Fault;
using device::Launch;
using device::Step;
using device::Trust;

namespace {

constexpr std::uint32_t kSharedWithoutOptIn = 48 * 1024;
constexpr std::uint32_t kPortableCluster = 8;

std::uint32_t product(const std::array<std::uint32_t, 3>& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

template <class T>
std::uint64_t raw_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

Fault make_fault(FailureKind kind, std::string check, std::string message) {
  Fault fault;
  fault.kind = kind;
  fault.check = std::move(check);
  fault.message = std::move(message);
  return fault;
}

TensorMapType type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return TensorMapType::kF32;
    case DType::kF16:
      return TensorMapType::kF16;
    case DType::kBF16:
      return TensorMapType::kBF16;
    case DType::kF64:
      return TensorMapType::kF64;
    case DType::kI32:
      return TensorMapType::kI32;
    case DType::kI64:
      break;
  }
  return TensorMapType::kI64;
}

TensorMapSwizzle swizzle_of(int bytes) {
  return bytes == 128  ? TensorMapSwizzle::k128
         : bytes == 64 ? TensorMapSwizzle::k64
         : bytes == 32 ? TensorMapSwizzle::k32
                       : TensorMapSwizzle::kNone;
}

/// Errors after which the context answers every call with the same error.
bool ends_context(DriverResult result) {
  const int code = static_cast<int>(result);
  return (code >= 700 && code != 701 && code != 720 && code < 800) || code == 214 || code == 220 ||
         code == 226 || code == 999;
}

}  // namespace

/// The driver does not tell the address. Beside red zones a stray access lands in a zone, unless it is far
/// off.
Fault CudaDevice::State::illegal_address(const std::string& said) const {
  const bool unmapped_beside = std::any_of(buffers.begin(), buffers.end(), [](const auto& each) {
    const device::BufferSpec& spec = each.second.spec;
    return spec.access != device::Access::kHidden && spec.guard != device::Guard::kRedZone;
  });
  if (unmapped_beside) {
    return make_fault(FailureKind::kOutOfBounds, "guard.edge",
                      said +
                          " (a read or write outside of the buffers, or a write to an input, which is mapped "
                          "read-only)");
  }
  return make_fault(FailureKind::kOutOfBounds, "guard.input",
                    said +
                        " (a write to an input, which is mapped read-only, or an access further than 64 KiB "
                        "outside of the buffers)");
}

Fault CudaDevice::State::fault_of(DriverResult result, std::string_view what) {
  if (ends_context(result)) lost = true;
  const std::string said = fmt::format("{}: {}", what, api.describe(result));
  switch (result) {
    case DriverResult::kIllegalAddress:
      return illegal_address(said);
    case DriverResult::kOutOfMemory:
      return make_fault(FailureKind::kOutOfMemory, "fault", said);
    case DriverResult::kLaunchTimeout:
      return make_fault(FailureKind::kTimeout, "fault", said);
    case DriverResult::kInvalidValue:
    case DriverResult::kLaunchOutOfResources:
    case DriverResult::kCooperativeLaunchTooLarge:
    case DriverResult::kInvalidClusterSize:
      return make_fault(FailureKind::kInvalidConfig, "audit.launch", said);
    default:
      return make_fault(FailureKind::kCrash, "fault", said);
  }
}

Result<TensorMapDescriptor> CudaDevice::State::encode(const device::TensorMap& map, Trust trust) {
  AK_TRY(target, buffer(map.at, 0));
  const auto rank = static_cast<std::uint32_t>(map.sizes.size());
  if (rank < 1 || rank > 5 || map.box.size() != rank) return internal_error("a tensor map of rank {}", rank);
  std::uint64_t sizes[5], strides[5];
  std::uint32_t box[5], steps[5];
  std::uint64_t stride = size_bytes(map.dtype);
  for (std::uint32_t i = 0; i < rank; ++i) {  // the driver counts from the innermost
    sizes[i] = map.sizes[rank - 1 - i];
    box[i] = map.box[rank - 1 - i];
    steps[i] = 1;
    stride *= sizes[i];
    strides[i] = stride;
  }
  const DevicePointer at =
      (trust == Trust::kTrusted ? target->trusted() : target->candidate()) + map.at.offset;
  TensorMapDescriptor descriptor{};
  const DriverResult encoded =
      api.tensor_map_encode(&descriptor, type_of(map.dtype), rank, reinterpret_cast<void*>(at), sizes,
                            strides, box, steps, 0, swizzle_of(map.swizzle_bytes), kTensorMapPromote128, 0);
  if (encoded != DriverResult::kSuccess) {
    return usage_error(
        "a tensor map with {} elements in the innermost dim, a box of {} and a swizzle of {} bytes is not "
        "possible: "
        "{}; rows must be multiples of 16 bytes, and the box's inner extent at most the swizzle",
        sizes[0], box[0], map.swizzle_bytes, api.describe(encoded));
  }
  return descriptor;
}

CudaDevice::State::MaybeFault CudaDevice::State::issue_launch(const Launch& launch) {
  AK_TRY(target, module(launch.module));
  if (launch.entry >= target->functions.size())
    return internal_error("a module has no entry {}", launch.entry);
  const Entry& entry = target->entries[launch.entry];
  if (entry.param_bytes.size() != launch.args.size()) {
    return std::optional(make_fault(FailureKind::kInvalidConfig, "audit.launch",
                                    fmt::format("{} takes {} parameters, the launch passes {}", entry.name,
                                                entry.param_bytes.size(), launch.args.size())));
  }
  std::vector<std::uint64_t> slots(launch.args.size());
  std::vector<TensorMapDescriptor> maps(launch.args.size());
  std::vector<void*> params(launch.args.size() + 1, nullptr);
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    params[i] = &slots[i];
    if (const auto* ref = std::get_if<device::BufferRef>(&launch.args[i])) {
      AK_TRY(found, buffer(*ref, 0));
      if (target->trust == Trust::kCandidate && found->spec.access == device::Access::kHidden) {
        return internal_error("a hidden buffer was passed to a candidate");
      }
      slots[i] = (target->trust == Trust::kTrusted ? found->trusted() : found->candidate()) + ref->offset;
    } else if (const auto* map = std::get_if<device::TensorMap>(&launch.args[i])) {
      auto encoded = encode(*map, target->trust);
      if (!encoded && encoded.error().code != ErrorCode::kUsage) return tl::unexpected(encoded.error());
      if (!encoded)
        return std::optional(
            make_fault(FailureKind::kInvalidConfig, "audit.launch", encoded.error().message));
      maps[i] = *encoded;
      params[i] = &maps[i];
    } else {
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) slots[i] = raw_bits(value);
          },
          launch.args[i]);
    }
  }
  const FunctionHandle function = target->functions[launch.entry];
  LaunchAttribute attributes[2];
  LaunchConfig config;
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = launch.grid[i];
    config.block[i] = launch.block[i];
  }
  config.shared_bytes = launch.shared_bytes;
  config.stream = stream;
  config.attributes = attributes;
  if (product(launch.cluster) > 1) {
    LaunchAttribute& attribute = attributes[config.attribute_count++];
    attribute.id = LaunchAttribute::kClusterDimension;
    for (int i = 0; i < 3; ++i) attribute.value.cluster[i] = launch.cluster[i];
  }
  if (launch.cooperative) {
    LaunchAttribute& attribute = attributes[config.attribute_count++];
    attribute.id = LaunchAttribute::kCooperative;
    attribute.value.cooperative = 1;
  }
  DriverResult result = DriverResult::kSuccess;
  if (launch.shared_bytes + entry.static_shared_bytes > kSharedWithoutOptIn) {
    result = api.func_set_attribute(function, FunctionAttribute::kMaxDynamicSharedBytes,
                                    static_cast<int>(launch.shared_bytes));
  }
  if (result == DriverResult::kSuccess && product(launch.cluster) > kPortableCluster) {
    result = api.func_set_attribute(function, FunctionAttribute::kNonPortableClusterSize, 1);
  }
  if (result == DriverResult::kSuccess)
    result = api.launch_kernel_ex(&config, function, params.data(), nullptr);
  if (result == DriverResult::kSuccess) return std::optional<Fault>();
  return std::optional(fault_of(result, fmt::format("launch of {}", entry.name)));
}

Status CudaDevice::State::issue_fill(const device::Fill& fill) {
  AK_TRY(target, buffer(fill.at, fill.bytes));
  const DevicePointer at = target->trusted() + fill.at.offset;
  const std::uint64_t words = at % 4 == 0 ? fill.bytes / 4 : 0;
  if (words != 0) AK_TRY_VOID(api.check(api.memset_words(at, fill.pattern, words, stream), "fill a buffer"));
  for (std::uint64_t i = words * 4; i < fill.bytes; ++i) {  // at most 3 bytes: allocations are aligned
    const auto byte = static_cast<unsigned char>(fill.pattern >> (8 * (i % 4)));
    AK_TRY_VOID(api.check(api.memset_bytes(at + i, byte, 1, stream), "fill a buffer"));
  }
  return {};
}

Status CudaDevice::State::launch_own(std::string_view entry, std::uint32_t grid, std::uint32_t block,
                                     std::uint32_t shared_bytes, std::span<void*> params) {
  const std::uint32_t index = own_entries.find(entry)->second;
  const FunctionHandle function = modules.at(device::ModuleId{0}).functions[index];
  LaunchConfig config;
  config.grid[0] = grid;
  config.block[0] = block;
  config.shared_bytes = shared_bytes;
  config.stream = stream;
  if (shared_bytes > kSharedWithoutOptIn) {
    AK_TRY_VOID(api.check(api.func_set_attribute(function, FunctionAttribute::kMaxDynamicSharedBytes,
                                                 static_cast<int>(shared_bytes)),
                          "use all shared memory"));
  }
  return api.check(api.launch_kernel_ex(&config, function, params.data(), nullptr),
                   fmt::format("launch {}", entry));
}

Status CudaDevice::State::issue_scrub(device::Scrub::What what) {
  if (what == device::Scrub::What::kL2) {
    AK_TRY_VOID(api.check(api.ctx_reset_persisting_l2(), "reset persisting lines of L2"));
    auto count = static_cast<long long>(flush_bytes / 16);
    void* params[] = {&flush, &count, &sink};
    return launch_own("ak_read_flush", info.multiprocessors * 8, 256, 0, params);
  }
  auto seed = static_cast<std::uint32_t>(seeds.next());
  auto shared_words = static_cast<std::int32_t>(info.dynamic_shared_bytes / 4);
  void* shared_params[] = {&shared_words, &seed};
  AK_TRY_VOID(
      launch_own("ak_scrub_shared", info.multiprocessors * 2, 256, info.dynamic_shared_bytes, shared_params));
  std::int32_t local_words = 1024;
  void* local_params[] = {&local_words, &seed, &sink};
  return launch_own("ak_scrub_local", info.multiprocessors * 4, 256, 0, local_params);
}

CudaDevice::State::MaybeFault CudaDevice::State::issue(const Step& step) {
  if (const auto* launch = std::get_if<Launch>(&step)) return issue_launch(*launch);
  if (const auto* fill = std::get_if<device::Fill>(&step)) {
    AK_TRY_VOID(issue_fill(*fill));
  } else {
    AK_TRY_VOID(issue_scrub(std::get<device::Scrub>(step).what));
  }
  return std::optional<Fault>();
}

CudaDevice::State::MaybeFault CudaDevice::State::issue_all(std::span<const Step> steps) {
  if (lost) return environment_error("the GPU's context was lost by an earlier fault");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    AK_TRY(fault, issue(steps[i]));
    if (!fault) continue;
    fault->step = i;
    return fault;
  }
  return std::optional<Fault>();
}

CudaDevice::State::MaybeFault CudaDevice::State::wait(std::chrono::milliseconds deadline) {
  using namespace std::chrono_literals;
  const auto start = Clock::now();
  while (true) {
    const DriverResult result = api.stream_query(stream);
    if (result == DriverResult::kSuccess) return std::optional<Fault>();
    if (result != DriverResult::kNotReady) return std::optional(fault_of(result, "a kernel failed"));
    const auto waited = Clock::now() - start;
    if (waited > deadline) {
      lost = true;
      return std::optional(make_fault(FailureKind::kTimeout, "fault",
                                      fmt::format("a kernel did not end within {} ms", deadline.count())));
    }
    if (waited > 2ms) std::this_thread::sleep_for(waited > 20ms ? 200us : 20us);
  }
}

}  // namespace ak::cuda
