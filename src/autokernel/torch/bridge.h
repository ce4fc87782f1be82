#pragma once
// The Python files that the binary carries. Private to the library.

#include <string>
#include <string_view>

namespace ak::torch {

/// Text of a file of the bridge, e.g. "autokernel/baselines.py".
std::string_view bridge_file(std::string_view path);

/// The end of what a program wrote to standard error, where Python says what is wrong.
std::string last_bytes(std::string_view text, std::size_t count);

}  // namespace ak::torch
