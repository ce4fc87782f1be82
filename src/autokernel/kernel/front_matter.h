#pragma once
// Where the front matter lies in the text of a kernel file.

#include <string>
#include <string_view>

#include "autokernel/base/result.h"

namespace ak::kernel {

/// Byte offsets into the text: `/* autokernel` begins at `comment_begin`, the TOML is [toml_begin, toml_end),
/// and the code goes on at `comment_end`, after the closing `*/`.
struct FrontMatter {
  std::size_t comment_begin = 0, toml_begin = 0, toml_end = 0, comment_end = 0;
  int first_line = 1;  ///< of the TOML, from 1
};

/// The first block comment that begins with `/* autokernel`. Comments, literals and raw strings before it are
/// passed over, so that the words may be quoted. Fails with file, line and what to write.
Result<FrontMatter> find_front_matter(std::string_view text, const std::string& name);

/// Fails at the first byte that is no UTF-8 or is NUL.
Status check_text(std::string_view text, const std::string& name);

/// True when `word` occurs in `code` as a whole identifier.
bool mentions(std::string_view code, std::string_view word);

bool is_identifier(std::string_view text);
bool is_identifier_part(char c);

}  // namespace ak::kernel
