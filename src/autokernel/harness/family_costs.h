#pragma once
// The expressions of a family, evaluated on all of its sizes: shapes, flops, bytes, rows of the tolerance.

#include "autokernel/harness/family_check.h"

namespace ak::harness {

/// One finding a kind of mistake, at the first size that shows it. Needs no device.
std::vector<FamilyFinding> check_costs(const op::Family& family);

}  // namespace ak::harness
