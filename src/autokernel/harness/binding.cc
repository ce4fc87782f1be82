#include "autokernel/harness/binding.h"

#include <algorithm>

namespace ak::harness {

Result<device::Launch> bind(const LaunchStep& step, device::ModuleId module, const Binary& binary,
                            const BufferLookup& lookup) {
  auto entry = std::find_if(binary.entries.begin(), binary.entries.end(),
                            [&](const Entry& each) { return each.name == step.entry; });
  if (entry == binary.entries.end()) return internal_error("the binary has no entry `{}`", step.entry);
  device::Launch launch;
  launch.module = module;
  launch.entry = static_cast<std::uint32_t>(entry - binary.entries.begin());
  launch.grid = step.grid;
  launch.block = step.block;
  launch.cluster = step.cluster;
  launch.shared_bytes = step.shared_bytes;
  launch.cooperative = step.cooperative;
  for (const LaunchArg& arg : step.args) {
    if (const auto* tensor = std::get_if<TensorArg>(&arg)) {
      std::optional<device::BufferRef> ref = lookup(tensor->tensor);
      launch.args.push_back(ref ? device::Arg(*ref) : device::Arg(device::NullPointer{}));
    } else if (std::holds_alternative<NullArg>(arg)) {
      launch.args.push_back(device::NullPointer{});
    } else if (const auto* map = std::get_if<TensorMapArg>(&arg)) {
      return environment_error("tensor map `{}`: not supported yet on this device", map->name);
    } else {
      std::visit(
          [&](const auto& value) {
            if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) launch.args.push_back(value);
          },
          arg);
    }
  }
  return launch;
}

Result<Workspaces> Workspaces::allocate(device::Device& device, const LaunchPlan& plan) {
  Workspaces workspaces;
  for (const WorkspacePlan& each : plan.workspaces) {
    AK_TRY(buffer, DeviceBuffer::allocate(device, {.bytes = each.bytes}));
    workspaces.items_.push_back({each, std::move(buffer)});
  }
  return workspaces;
}

std::optional<device::BufferRef> Workspaces::find(const std::string& name) const {
  for (const Item& item : items_) {
    if (item.plan.name == name) return item.buffer.ref();
  }
  return std::nullopt;
}

std::vector<device::Step> Workspaces::zeroing() const {
  std::vector<device::Step> steps;
  for (const Item& item : items_) {
    if (item.plan.zeroed) steps.push_back(device::Fill{item.buffer.ref(), item.buffer.bytes(), 0});
  }
  return steps;
}

}  // namespace ak::harness
