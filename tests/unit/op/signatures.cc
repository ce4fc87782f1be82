#include "signatures.h"

namespace ak::op::testing {

kernel::Signature signature_of(const Family& family) {
  kernel::Signature signature;
  signature.dims = family.dims;
  for (const auto& [name, expr] : family.derived) signature.dims.push_back(name);
  for (const FlagSpec& flag : family.flags) signature.flags.push_back(flag.name);
  for (const ScalarSpec& scalar : family.scalars) {
    (scalar.type == ScalarSpec::Type::kInt ? signature.int_scalars : signature.float_scalars)
        .push_back(scalar.name);
  }
  for (const TensorSpec& tensor : family.tensors) {
    signature.tensors.push_back(tensor.name);
    if (tensor.optional) signature.optional_tensors.push_back(tensor.name);
  }
  return signature;
}

kernel::Signature reference_signature_of(const Family& family) {
  kernel::Signature signature = signature_of(family);
  for (const TensorSpec& tensor : family.tensors) {
    if (tensor.role == TensorRole::kIn) continue;
    for (const char* suffix : {"_r", "_S"}) signature.tensors.push_back(tensor.name + suffix);
    for (std::size_t k = 0; k < family.tolerance.roundings.size(); ++k) {
      signature.tensors.push_back(fmt::format("{}_I{}", tensor.name, k));
    }
  }
  return signature;
}

}  // namespace ak::op::testing
