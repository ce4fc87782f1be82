#pragma once
// "did you mean VEC?" for names that are nearly right.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ak::kernel {

/// Letters to insert, delete, replace or swap (neighbours) to make one of the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, or "" when none is near. Another case is the smallest difference.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// "did you mean VEC?", else "expected one of A, B, C" (shortened), else "".
std::string spelling_hint(std::string_view name, std::span<const std::string> candidates);

/// "A, B, C"; after `limit` names "... (n in all)".
std::string joined(std::span<const std::string> names, std::size_t limit = 12);

}  // namespace ak::kernel
