// check_resources: the limits that only the compiled code shows.
#include <algorithm>

#include "autokernel/kernel/launch.h"

namespace ak::kernel {
namespace {

constexpr std::size_t kTensorMapBytes = 128;  // CUtensorMap

std::size_t bytes_of(const LaunchArg& arg) {
  struct Sizes {
    std::size_t operator()(const TensorArg&) const { return sizeof(void*); }
    std::size_t operator()(const NullArg&) const { return sizeof(void*); }
    std::size_t operator()(const TensorMapArg&) const { return kTensorMapBytes; }
    std::size_t operator()(std::int32_t) const { return sizeof(std::int32_t); }
    std::size_t operator()(std::int64_t) const { return sizeof(std::int64_t); }
    std::size_t operator()(float) const { return sizeof(float); }
    std::size_t operator()(double) const { return sizeof(double); }
  };
  return std::visit(Sizes{}, arg);
}

char kind_of(const LaunchArg& arg) {
  if (std::holds_alternative<TensorArg>(arg) || std::holds_alternative<NullArg>(arg)) return 'p';
  if (std::holds_alternative<float>(arg) || std::holds_alternative<double>(arg)) return 'f';
  return std::holds_alternative<TensorMapArg>(arg) ? '?' : 'i';
}

std::string_view kind_name(char kind) {
  return kind == 'p' ? "a pointer" : kind == 'f' ? "floating point" : "an integer";
}

std::optional<std::string> check_params(const LaunchStep& step, const Entry& entry) {
  if (entry.param_bytes.empty()) return std::nullopt;  // the format does not tell
  if (entry.param_bytes.size() != step.args.size()) {
    return fmt::format(
        "{} takes {} parameters, the launch passes {}: compare 'args' with the kernel's signature",
        step.entry, entry.param_bytes.size(), step.args.size());
  }
  for (std::size_t i = 0; i < step.args.size(); ++i) {
    const char kind = kind_of(step.args[i]);
    const char declared = i < entry.param_kinds.size() ? entry.param_kinds[i] : '?';
    if (declared != '?' && kind != '?' && declared != kind) {
      return fmt::format(
          "parameter {} of {} is {}, the launch passes {}: compare 'args' with the kernel's signature", i + 1,
          step.entry, kind_name(declared), kind_name(kind));
    }
    if (entry.param_bytes[i] == bytes_of(step.args[i])) continue;
    return fmt::format(
        "parameter {} of {} has {} bytes, the launch passes {}: tensors are pointers, dims and expressions "
        "int, "
        "scalars float",
        i + 1, step.entry, entry.param_bytes[i], bytes_of(step.args[i]));
  }
  return std::nullopt;
}

std::optional<std::string> check_shared(const LaunchStep& step, const Entry& entry,
                                        const DeviceInfo& device) {
  if (entry.static_shared_bytes > device.static_shared_bytes) {
    return fmt::format("{} has {} bytes of static shared memory, the device's limit is {}; use shared_bytes",
                       step.entry, entry.static_shared_bytes, device.static_shared_bytes);
  }
  const std::uint64_t all = std::uint64_t{entry.static_shared_bytes} + step.shared_bytes;
  if (all <= device.dynamic_shared_bytes) return std::nullopt;
  return fmt::format(
      "{} needs {} + {} = {} bytes of static and dynamic shared memory, the device's limit is {}", step.entry,
      entry.static_shared_bytes, step.shared_bytes, all, device.dynamic_shared_bytes);
}

std::optional<std::string> check_registers(const LaunchStep& step, const Entry& entry,
                                           const DeviceInfo& device) {
  const std::uint64_t threads = std::uint64_t{step.block[0]} * step.block[1] * step.block[2];
  const std::uint64_t warp = std::max<std::uint32_t>(1, device.warp_size);
  // Registers are given to whole warps, in units of 8 a thread.
  const std::uint64_t needed = (threads + warp - 1) / warp * warp * ((entry.registers + 7) / 8 * 8);
  if (needed <= device.registers_per_multiprocessor) return std::nullopt;
  return fmt::format(
      "{} needs {} registers for {} threads of {} each, the device's limit is {}; set max_registers",
      step.entry, needed, threads, entry.registers, device.registers_per_multiprocessor);
}

}  // namespace

std::optional<std::string> check_resources(const LaunchPlan& plan, const Binary& binary,
                                           const DeviceInfo& device) {
  for (const LaunchStep& step : plan.steps) {
    const auto entry = std::find_if(binary.entries.begin(), binary.entries.end(),
                                    [&](const Entry& it) { return it.name == step.entry; });
    if (entry == binary.entries.end()) return fmt::format("the compiled code has no kernel '{}'", step.entry);
    if (auto reason = check_params(step, *entry)) return reason;
    if (auto reason = check_shared(step, *entry, device)) return reason;
    if (auto reason = check_registers(step, *entry, device)) return reason;
    for (std::size_t i = 0; i < 3; ++i) {
      if (entry->block[i] == 0 || entry->block[i] == step.block[i]) continue;
      return fmt::format("{} was compiled for blocks of {} x {} x {} threads", step.entry, entry->block[0],
                         entry->block[1], entry->block[2]);
    }
  }
  return std::nullopt;
}

}  // namespace ak::kernel
