#pragma once
// target.toml (OPS.md): the problems that a kernel file is judged on.

#include <string>
#include <string_view>

#include "autokernel/op/op_family.h"

namespace ak::op {

Result<Target> parse_target(std::string_view text, std::string name, const Registry& registry);
std::string format_target(const Target& target);

/// The target of a bare kernel file: the family's primary sizes (CPU device: its sweep sizes) in the file's
/// dtypes. `role_primary_set` is "primary" or "sweep".
Result<Target> default_target(const Family& family, const std::vector<DType>& dtypes, std::string_view set);

}  // namespace ak::op
