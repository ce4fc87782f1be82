#include "autokernel/harness/binding.h"

#include <algorithm>

namespace ak::harness {

Result<device::Launch> bind(const LaunchStep& step, device::ModuleId module, const Binary& binary,
                            const BufferLookup& lookup, const TensorMapLookup& tensor_map) {
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
      if (ref) {
        launch.args.emplace_back(*ref);
      } else {
        launch.args.emplace_back(device::NullPointer{});
      }
    } else if (std::holds_alternative<NullArg>(arg)) {
      launch.args.push_back(device::NullPointer{});
    } else if (const auto* map = std::get_if<TensorMapArg>(&arg)) {
      AK_TRY(bound, tensor_map(map->name));
      launch.args.push_back(std::move(bound));
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

Result<device::TensorMap> tensor_map_of(const TensorMapPlan& plan, device::BufferRef at, DType dtype,
                                        std::span<const std::int64_t> shape) {
  if (plan.box.empty()) return usage_error("tensor map {}: the box has no sizes", plan.name);
  device::TensorMap map{at, dtype, std::vector<std::uint64_t>(plan.box.size(), 1), plan.box,
                        plan.swizzle_bytes};
  for (std::size_t i = 0; i < shape.size(); ++i) {  // from the innermost
    const std::size_t dim = std::min(i, plan.box.size() - 1);
    map.sizes[plan.box.size() - 1 - dim] *= static_cast<std::uint64_t>(shape[shape.size() - 1 - i]);
  }
  return map;
}

Result<Workspaces> Workspaces::allocate(device::Device& device, const LaunchPlan& plan) {
  Workspaces workspaces;
  for (const WorkspacePlan& each : plan.workspaces) {
    AK_TRY(buffer, DeviceBuffer::allocate(
                       device, {.bytes = each.bytes, .name = fmt::format("the workspace `{}`", each.name)}));
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
