#pragma once
// From a launch plan and named buffers to the steps of a device.

#include <functional>
#include <string>
#include <vector>

#include "autokernel/core/launch_plan.h"
#include "autokernel/device/device.h"
#include "autokernel/harness/device_buffer.h"

namespace ak::harness {

/// The buffer of a tensor or workspace; nullopt: absent, a null pointer for the kernel.
using BufferLookup = std::function<std::optional<device::BufferRef>(const std::string&)>;

/// What a plan's tensor map describes: the tensor's buffer, dtype and sizes.
using TensorMapLookup = std::function<Result<device::TensorMap>(const std::string&)>;

/// One launch; fails when the binary lacks the entry.
Result<device::Launch> bind(const LaunchStep& step, device::ModuleId module, const Binary& binary,
                            const BufferLookup& lookup, const TensorMapLookup& tensor_map);

/// A tensor seen through a box of `plan.box.size()` dims: leading dims of the shape are folded into the first
/// of them, missing ones are 1.
Result<device::TensorMap> tensor_map_of(const TensorMapPlan& plan, device::BufferRef at, DType dtype,
                                        std::span<const std::int64_t> shape);

/// Workspaces of a plan, allocated; zeroing them is a Fill that belongs to the timed work.
class Workspaces {
 public:
  static Result<Workspaces> allocate(device::Device& device, const LaunchPlan& plan);
  std::optional<device::BufferRef> find(const std::string& name) const;
  std::vector<device::Step> zeroing() const;
  struct Item {
    WorkspacePlan plan;
    DeviceBuffer buffer;
  };
  const std::vector<Item>& items() const { return items_; }

 private:
  std::vector<Item> items_;
};

}  // namespace ak::harness
