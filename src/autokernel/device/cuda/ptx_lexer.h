#pragma once
// PTX as statements of words. Inline assembly reaches PTX as its author wrote it, so nothing is read by
// lines.

#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::cuda {

/// One statement without its `;`: a directive, an instruction, or the head of a function. Words point into
/// the text: names, opcodes with their suffixes (`ld.global.nc.f32`, `%r1`), numbers, and single marks.
struct PtxStatement {
  std::vector<std::string_view> words;  ///< labels are left out
  bool opens_body = false;              ///< `.entry` or `.func` head, followed by its body
  int function = 0;                     ///< index of the function it belongs to, from 1; 0 at module scope
};

/// Fails on an unterminated comment or string, braces that do not match, or text that ends inside a
/// statement.
Result<std::vector<PtxStatement>> split_ptx(std::string_view ptx);

/// The parts of a word between dots and double colons: `ld.L2::evict_last.b32` is ld, L2, evict_last, b32.
std::vector<std::string_view> ptx_parts(std::string_view word);

}  // namespace ak::cuda
