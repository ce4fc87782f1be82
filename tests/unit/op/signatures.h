#pragma once
// What launches of a family's kernel files may name.

#include "autokernel/kernel/launch.h"
#include "autokernel/op/op_family.h"

namespace ak::op::testing {

kernel::Signature signature_of(const Family& family);
/// With the arrays that a reference fills.
kernel::Signature reference_signature_of(const Family& family);

}  // namespace ak::op::testing
