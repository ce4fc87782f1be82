#pragma once
// The buffers of one problem: inputs and outputs that a candidate sees, and the truth that it must not see.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/harness/binding.h"
#include "autokernel/harness/device_buffer.h"
#include "autokernel/harness/trusted_kernels.h"

namespace ak::harness {

struct Placement {
  device::Guard guard = device::Guard::kRedZone;
  std::uint32_t skew = 0;  ///< in units of each tensor's declared alignment
  enum class Order { kDeclared, kReversed } order = Order::kDeclared;
  device::Access inputs = device::Access::kReadOnly;  ///< writable only where guard.input is off
};

class DataSet {
 public:
  static Result<DataSet> allocate(device::Device& device, const op::Family& family, const Problem& problem,
                                  const Placement& placement);
  const std::vector<std::string>& inputs() const { return inputs_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  const View& view(const std::string& tensor) const { return views_.at(tensor); }
  const std::vector<std::int64_t>& shape(const std::string& tensor) const { return shapes_.at(tensor); }
  /// nullopt for an absent optional tensor.
  std::optional<device::BufferRef> find(const std::string& tensor) const;
  std::uint64_t bytes() const;

 private:
  std::vector<std::string> inputs_, outputs_;
  std::map<std::string, View> views_;
  std::map<std::string, std::vector<std::int64_t>> shapes_;
  std::vector<DeviceBuffer> buffers_;
};

/// What is right for the contents of a DataSet: r, S, I (fp64) and the contract kernel's b, per output.
class Truth {
 public:
  struct Output {
    device::BufferRef r, s, b;
    std::vector<device::BufferRef> roundings;
    std::uint64_t row_elements = 1, elements = 0;
    DType dtype = DType::kF32;  ///< of b
  };
  static Result<Truth> allocate(device::Device& device, const op::Family& family, const Problem& problem,
                                device::Access access = device::Access::kHidden);
  /// Every array of the reference and the contract, by the name that reference.cu knows it by; fp64 ones as
  /// twice as many fp32 elements.
  std::map<std::string, View> arrays() const;
  const std::map<std::string, Output>& outputs() const { return outputs_; }
  /// The workspaces of the reference's launches, zeroed where they ask for it; the first call allocates.
  Result<std::vector<device::Step>> prepare_workspaces(device::Device& device, const LaunchPlan& plan);
  /// `y` is the contract's output, `y_r`, `y_S`, `y_I0` the reference's; or a workspace of its launches.
  std::optional<device::BufferRef> find(const std::string& name) const;
  std::uint64_t bytes() const;

 private:
  std::map<std::string, Output> outputs_;
  std::vector<DeviceBuffer> buffers_;
  std::optional<Workspaces> workspaces_;
};

/// Row of a tensor for distributions: its innermost extent.
Result<View> view_of(const op::Family& family, const op::TensorSpec& tensor, const Problem& problem,
                     device::BufferRef at);

}  // namespace ak::harness
