#pragma once
// Byte offsets and places (line and column in code points, both from 1) of a text.

#include <string_view>

#include "autokernel/base/toml.h"

namespace ak::kernel {

TextPosition position_at(std::string_view text, std::size_t offset);
/// The nearest offset where the text has no such place.
std::size_t offset_of(std::string_view text, TextPosition place);

/// A usage error at a byte offset of a file, as TomlDocument::error_at writes them.
tl::unexpected<Error> error_at_offset(std::string_view text, std::string_view name, std::size_t offset,
                                      std::string_view message, std::string_view hint);

}  // namespace ak::kernel
