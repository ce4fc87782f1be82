#pragma once
// Splits CUDA C++ text into tokens, as far as a rewrite needs them: identifiers, literals (raw strings
// included), punctuation and the places of preprocessor directives. Never fails: unfinished literals and
// comments end with the text, and the compiler reports them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ak::cpu {

enum class TokenKind : std::uint8_t { kIdentifier, kNumber, kLiteral, kPunctuation };

struct Token {
  TokenKind kind = TokenKind::kPunctuation;
  std::string_view raw;    ///< the bytes in the text
  std::string spelling;    ///< without line splices; digraphs of brackets as the brackets
  std::size_t offset = 0;  ///< of `raw` in the text
  int line = 1;            ///< of its first byte, from 1
  int directive = 0;       ///< 0, or the number (from 1) of the preprocessor directive that it is part of
  bool starts_directive = false;  ///< the `#`
};

/// The tokens point into `text`, which must outlive them.
std::vector<Token> tokenize(std::string_view text);

}  // namespace ak::cpu
