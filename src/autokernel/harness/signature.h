#pragma once
// The names of an op family as kernel files see them.

#include "autokernel/kernel/launch.h"
#include "autokernel/op/op_family.h"

namespace ak::harness {

/// For candidates: tensors, dims, flags, scalars.
kernel::Signature signature_of(const op::Family& family);

/// For reference.cu, which also fills `<output>_r`, `<output>_S`, `<output>_I<k>` (fp64, shaped like the
/// output).
kernel::Signature reference_signature(const op::Family& family);

/// Is the file a reference.cu? One of its launches takes an array that only references fill.
bool is_reference(const kernel::KernelFile& file, const op::Family& family);

}  // namespace ak::harness
