#include "autokernel/harness/data_set.h"

#include <algorithm>

namespace ak::harness {
namespace {

/// Like op::shape_of names, for expressions of the tolerance table.
Result<std::uint64_t> row_elements_of(const op::Family& family, const op::TensorSpec& tensor,
                                      const Problem& problem, std::uint64_t elements) {
  auto it = family.tolerance.row_elements.find(tensor.name);
  if (it == family.tolerance.row_elements.end()) {
    AK_TRY(shape, op::shape_of(family, tensor, problem));
    return shape.empty() ? std::uint64_t{1} : static_cast<std::uint64_t>(shape.back());
  }
  AK_TRY(value, it->second.evaluate(op::names_of(family, problem)));
  if (value < 1 || elements % static_cast<std::uint64_t>(value) != 0) {
    return usage_error("op family {}: tolerance rows of {} have {} elements, which do not divide its {}",
                       family.name, tensor.name, value, elements);
  }
  return static_cast<std::uint64_t>(value);
}

}  // namespace

Result<View> view_of(const op::Family& family, const op::TensorSpec& tensor, const Problem& problem,
                     device::BufferRef at) {
  AK_TRY(elements, op::element_count(family, tensor, problem));
  AK_TRY(shape, op::shape_of(family, tensor, problem));
  std::uint64_t row = shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back());
  return View{at, op::dtype_of(tensor, problem), elements, std::max<std::uint64_t>(1, row)};
}

Result<DataSet> DataSet::allocate(device::Device& device, const op::Family& family, const Problem& problem,
                                  const Placement& placement) {
  DataSet set;
  std::vector<std::pair<const op::TensorSpec*, device::Access>> wanted;
  for (const op::TensorSpec* tensor : family.inputs(problem)) {
    set.inputs_.push_back(tensor->name);
    wanted.emplace_back(tensor, placement.inputs);
  }
  for (const op::TensorSpec* tensor : family.outputs(problem)) {
    if (tensor->role == op::TensorRole::kInOut) {
      return usage_error("op family {}: tensor {} is inout, which the harness does not support yet",
                         family.name, tensor->name);
    }
    set.outputs_.push_back(tensor->name);
    wanted.emplace_back(tensor, device::Access::kReadWrite);
  }
  if (placement.order == Placement::Order::kReversed) std::reverse(wanted.begin(), wanted.end());
  for (const auto& [tensor, access] : wanted) {
    AK_TRY(view, view_of(family, *tensor, problem, {}));
    device::BufferSpec spec;
    spec.bytes = view.elements * size_bytes(view.dtype);
    spec.access = access;
    spec.guard = placement.guard;
    spec.alignment = tensor->alignment;
    spec.skew = placement.skew * tensor->alignment;
    spec.name = fmt::format("`{}`", tensor->name);
    Result<DeviceBuffer> buffer = DeviceBuffer::allocate(device, spec);
    if (!buffer) {
      return tl::unexpected(std::move(buffer).error().with_context(
          fmt::format("{} of {} (choose a smaller size)", tensor->name, problem.label())));
    }
    view.at = buffer->ref();
    AK_TRY(shape, op::shape_of(family, *tensor, problem));
    set.shapes_.emplace(tensor->name, std::move(shape));
    set.views_.emplace(tensor->name, view);
    set.buffers_.push_back(std::move(*buffer));
  }
  return set;
}

std::optional<device::BufferRef> DataSet::find(const std::string& tensor) const {
  auto it = views_.find(tensor);
  if (it == views_.end()) return std::nullopt;
  return it->second.at;
}

std::uint64_t DataSet::bytes() const {
  std::uint64_t sum = 0;
  for (const DeviceBuffer& buffer : buffers_) sum += buffer.bytes();
  return sum;
}

Result<Truth> Truth::allocate(device::Device& device, const op::Family& family, const Problem& problem,
                              device::Access access) {
  Truth truth;
  auto hidden = [&](std::uint64_t bytes) -> Result<device::BufferRef> {
    AK_TRY(buffer, DeviceBuffer::allocate(device, {.bytes = bytes, .access = access}));
    device::BufferRef ref = buffer.ref();
    truth.buffers_.push_back(std::move(buffer));
    return ref;
  };
  for (const op::TensorSpec* tensor : family.outputs(problem)) {
    AK_TRY(view, view_of(family, *tensor, problem, {}));
    Output output;
    AK_TRY(r, hidden(view.elements * sizeof(double)));
    AK_TRY(s, hidden(view.elements * sizeof(double)));
    AK_TRY(b, hidden(view.elements * size_bytes(view.dtype)));
    output.r = r;
    output.s = s;
    output.b = b;
    for (std::size_t k = 0; k < family.tolerance.roundings.size(); ++k) {
      AK_TRY(rounding, hidden(view.elements * sizeof(double)));
      output.roundings.push_back(rounding);
    }
    AK_TRY(row, row_elements_of(family, *tensor, problem, view.elements));
    output.row_elements = row;
    output.elements = view.elements;
    output.dtype = view.dtype;
    truth.outputs_.emplace(tensor->name, std::move(output));
  }
  return truth;
}

Result<std::vector<device::Step>> Truth::prepare_workspaces(device::Device& device, const LaunchPlan& plan) {
  if (!workspaces_) {
    AK_TRY(workspaces, Workspaces::allocate(device, plan));
    workspaces_ = std::move(workspaces);
  }
  return workspaces_->zeroing();
}

std::optional<device::BufferRef> Truth::find(const std::string& name) const {
  if (auto it = outputs_.find(name); it != outputs_.end()) return it->second.b;
  if (workspaces_) {
    if (std::optional<device::BufferRef> workspace = workspaces_->find(name)) return workspace;
  }
  std::size_t cut = name.rfind('_');
  if (cut == std::string::npos) return std::nullopt;
  auto it = outputs_.find(name.substr(0, cut));
  if (it == outputs_.end()) return std::nullopt;
  std::string suffix = name.substr(cut + 1);
  if (suffix == "r") return it->second.r;
  if (suffix == "S") return it->second.s;
  for (std::size_t k = 0; k < it->second.roundings.size(); ++k) {
    if (suffix == fmt::format("I{}", k)) return it->second.roundings[k];
  }
  return std::nullopt;
}

std::map<std::string, View> Truth::arrays() const {
  std::map<std::string, View> arrays;
  for (const auto& [name, output] : outputs_) {
    auto add = [&](const std::string& suffix, device::BufferRef at) {
      arrays[name + suffix] = {at, DType::kF32, 2 * output.elements, 1};
    };
    arrays[name] = {output.b, output.dtype, output.elements, 1};
    add("_r", output.r);
    add("_S", output.s);
    for (std::size_t k = 0; k < output.roundings.size(); ++k)
      add(fmt::format("_I{}", k), output.roundings[k]);
  }
  return arrays;
}

std::uint64_t Truth::bytes() const {
  std::uint64_t sum = 0;
  for (const DeviceBuffer& buffer : buffers_) sum += buffer.bytes();
  if (workspaces_) {
    for (const Workspaces::Item& item : workspaces_->items()) sum += item.buffer.bytes();
  }
  return sum;
}

}  // namespace ak::harness
