#pragma once
// data/aten.toml: which ATen ops compute nothing, only cast, or commute.

#include <set>
#include <string>
#include <string_view>

#include "autokernel/base/result.h"

namespace ak::plan {

struct OpTraits {
  std::set<std::string, std::less<>> views, casts, commutative;
};

/// The one that the binary carries.
Result<OpTraits> embedded_op_traits();

}  // namespace ak::plan
