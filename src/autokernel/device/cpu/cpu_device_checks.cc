// What a launch may ask of the CPU device, checked before anything runs.

#include <bit>
#include <utility>

#include "autokernel/device/cpu/cpu_device_state.h"

namespace ak::cpu {

using device::Access;
using device::BufferRef;
using device::Fault;
using device::Launch;
using device::Step;

namespace {

std::uint64_t product(const std::array<std::uint32_t, 3>& sizes) {
  return static_cast<std::uint64_t>(sizes[0]) * sizes[1] * sizes[2];
}

AkDim3 dim3(const std::array<std::uint32_t, 3>& sizes) { return {sizes[0], sizes[1], sizes[2]}; }

std::uint32_t argument_bytes(const device::Arg& arg) {
  return std::holds_alternative<std::int32_t>(arg) || std::holds_alternative<float>(arg) ? 4 : 8;
}

Fault refused(FailureKind kind, std::string message) {
  Fault fault;
  fault.kind = kind;
  fault.check = "audit.launch";
  fault.message = std::move(message);
  return fault;
}

std::optional<Fault> check_limits(const Launch& launch, const DeviceInfo& limits) {
  if (product(launch.grid) == 0 || product(launch.block) == 0) {
    return refused(FailureKind::kInvalidConfig,
                   "a grid and a block have at least one element in each dimension");
  }
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] > limits.max_grid[i] || launch.block[i] > limits.max_block[i]) {
      return refused(FailureKind::kInvalidConfig,
                     fmt::format("dimension {} of the grid ({}) or block ({}) is too large", i,
                                 launch.grid[i], launch.block[i]));
    }
  }
  if (product(launch.block) > limits.max_threads_per_block) {
    return refused(FailureKind::kInvalidConfig,
                   fmt::format("{} threads a block; the limit is {}", product(launch.block),
                               limits.max_threads_per_block));
  }
  if (launch.shared_bytes > limits.dynamic_shared_bytes) {
    return refused(FailureKind::kInvalidConfig,
                   fmt::format("{} bytes of dynamic shared memory; the limit is {}", launch.shared_bytes,
                               limits.dynamic_shared_bytes));
  }
  if (product(launch.cluster) != 1)
    return refused(FailureKind::kUnsupported, "the CPU device has no clusters");
  return std::nullopt;
}

std::optional<Fault> check_params(const Launch& launch, const Entry& entry) {
  if (entry.param_bytes.size() != launch.args.size()) {
    return refused(FailureKind::kInvalidConfig,
                   fmt::format("{} takes {} parameters, the launch passes {}", entry.name,
                               entry.param_bytes.size(), launch.args.size()));
  }
  for (std::size_t i = 0; i < launch.args.size(); ++i) {
    const std::uint32_t passed = argument_bytes(launch.args[i]);
    if (entry.param_bytes[i] != passed) {
      return refused(FailureKind::kInvalidConfig,
                     fmt::format("parameter {} of {} has {} bytes, the launch passes {}", i, entry.name,
                                 entry.param_bytes[i], passed));
    }
  }
  return std::nullopt;
}

}  // namespace

RunnerNeeds CpuDevice::State::needs_of(const Launch& launch, const DeviceModule& module) const {
  LoadedModule traits;
  traits.blocking = module.traits.blocking;
  traits.checked = module.traits.checked;
  KernelLaunch shape;
  shape.module = &traits;
  shape.grid = dim3(launch.grid);
  shape.block = dim3(launch.block);
  shape.shared_bytes = launch.shared_bytes;
  shape.cooperative = launch.cooperative;
  RunnerNeeds needs = RunnerNeeds::of(shape, threads);
  // Rounded, so that the next shape often fits the jail that is there.
  if (needs.fibers > 1 && !launch.cooperative) needs.fibers = std::bit_ceil(needs.fibers);
  needs.threads = std::bit_ceil(needs.threads);
  return needs;
}

Result<std::optional<Fault>> CpuDevice::State::check_launch(const Launch& launch) {
  AK_TRY(found, module(launch.module));
  if (launch.entry >= found->entries.size()) {
    return internal_error("a module with {} entries has no entry {}", found->entries.size(), launch.entry);
  }
  if (launch.args.size() > kMaxArgs) {
    return std::optional(refused(FailureKind::kUnsupported, fmt::format("more than {} arguments", kMaxArgs)));
  }
  for (const device::Arg& arg : launch.args) {
    if (std::holds_alternative<device::TensorMap>(arg)) {
      return std::optional(refused(FailureKind::kUnsupported, "the CPU device has no tensor maps"));
    }
    const auto* ref = std::get_if<BufferRef>(&arg);
    if (ref == nullptr) continue;
    AK_TRY_VOID(at(*ref, 0));
    if (found->trust == device::Trust::kCandidate &&
        buffers.at(ref->buffer).spec().access == Access::kHidden) {
      return internal_error("a hidden buffer was passed to a candidate");
    }
  }
  if (auto fault = check_limits(launch, info)) return fault;
  if (auto fault = check_params(launch, found->entries[launch.entry])) return fault;
  const bool resident = launch.cooperative && (found->traits.blocking || found->traits.checked);
  const std::uint64_t all = product(launch.grid) * product(launch.block);
  if (resident && all > kMaxResidentThreads) {
    return std::optional(refused(
        FailureKind::kUnsupported,
        fmt::format("a cooperative launch of {} threads; {} can be resident at once on the CPU device", all,
                    kMaxResidentThreads)));
  }
  return std::optional<Fault>();
}

Result<std::optional<Fault>> CpuDevice::State::prepare(std::span<const Step> steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (const auto* fill = std::get_if<device::Fill>(&steps[i])) AK_TRY_VOID(at(fill->at, fill->bytes));
    const auto* launch = std::get_if<Launch>(&steps[i]);
    if (launch == nullptr) continue;
    AK_TRY(fault, check_launch(*launch));
    if (fault) {
      fault->step = i;
      return fault;
    }
    AK_TRY(found, module(launch->module));
    found->needs.include(needs_of(*launch, *found));
  }
  return std::optional<Fault>();
}

}  // namespace ak::cpu
