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

/// One launch; fails when the binary lacks the entry or the plan needs what no device here has (tensor maps).
Result<device::Launch> bind(const LaunchStep& step, device::ModuleId module, const Binary& binary,
                            const BufferLookup& lookup);

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
