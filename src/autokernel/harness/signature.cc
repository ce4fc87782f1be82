#include "autokernel/harness/signature.h"

#include <algorithm>

namespace ak::harness {

kernel::Signature signature_of(const op::Family& family) {
  kernel::Signature signature;
  for (const op::TensorSpec& tensor : family.tensors) {
    signature.tensors.push_back(tensor.name);
    if (tensor.optional) signature.optional_tensors.push_back(tensor.name);
  }
  signature.dims = family.dims;
  for (const auto& [name, expr] : family.derived) signature.dims.push_back(name);
  for (const op::FlagSpec& flag : family.flags) signature.flags.push_back(flag.name);
  for (const op::ScalarSpec& scalar : family.scalars) {
    bool is_int = scalar.type == op::ScalarSpec::Type::kInt;
    (is_int ? signature.int_scalars : signature.float_scalars).push_back(scalar.name);
  }
  return signature;
}

kernel::Signature reference_signature(const op::Family& family) {
  kernel::Signature signature = signature_of(family);
  for (const op::TensorSpec& tensor : family.tensors) {
    if (tensor.role == op::TensorRole::kIn) continue;
    signature.tensors.push_back(tensor.name + "_r");
    signature.tensors.push_back(tensor.name + "_S");
    for (std::size_t k = 0; k < family.tolerance.roundings.size(); ++k) {
      signature.tensors.push_back(fmt::format("{}_I{}", tensor.name, k));
    }
  }
  return signature;
}

bool is_reference(const kernel::KernelFile& file, const op::Family& family) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const kernel::Signature candidate = signature_of(family), reference = reference_signature(family);
  return std::any_of(file.launches.begin(), file.launches.end(), [&](const auto& launch) {
    return std::any_of(launch.args.begin(), launch.args.end(), [&](const std::string& arg) {
      return has(reference.tensors, arg) && !has(candidate.tensors, arg);
    });
  });
}

}  // namespace ak::harness
