#include "autokernel/device/cpu/cuda_lexer.h"

#include <algorithm>
#include <array>

namespace ak::cpu {
namespace {

bool starts_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_identifier(char c) { return starts_identifier(c) || is_digit(c); }

/// The punctuators that are more than one character and matter to the rewrite; anything else is one
/// character.
constexpr std::array<std::string_view, 12> kLongPunctuation = {
    "<<<", "->*", "::", "->", "<=", ">=", "==", "!=", "&&", "||", "<<", "##"};
struct Digraph {
  std::string_view raw;
  std::string_view meaning;
};
constexpr std::array<Digraph, 5> kDigraphs = {
    {{"<%", "{"}, {"%>", "}"}, {"<:", "["}, {":>", "]"}, {"%:", "#"}}};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (skip_blank()) next();
    return std::move(tokens_);
  }

 private:
  bool done() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool looking_at(std::string_view s) const { return text_.substr(at_, s.size()) == s; }

  /// Length of a line splice (backslash, newline) at `at`, or 0.
  std::size_t splice_at(std::size_t at) const {
    if (at >= text_.size() || text_[at] != '\\') return 0;
    std::size_t end = at + 1;
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t' || text_[end] == '\r')) ++end;
    return end < text_.size() && text_[end] == '\n' ? end + 1 - at : 0;
  }

  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }
  void step(std::size_t count) {
    for (; count > 0 && !done(); --count) step();
  }

  /// Skips spaces and comments; ends a directive at its newline. False at the end of the text.
  bool skip_blank() {
    while (!done()) {
      if (std::size_t splice = splice_at(at_)) {
        step(splice);
      } else if (peek() == '\n') {
        in_directive_ = 0;
        line_is_empty_ = true;
        step();
      } else if (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\v' || peek() == '\f') {
        step();
      } else if (looking_at("//")) {
        while (!done() && peek() != '\n') step(std::max<std::size_t>(splice_at(at_), 1));
      } else if (looking_at("/*")) {
        std::size_t end = text_.find("*/", at_ + 2);
        step((end == std::string_view::npos ? text_.size() : end + 2) - at_);
      } else {
        return true;
      }
    }
    return false;
  }

  void next() {
    const std::size_t begin = at_;
    Token token;
    token.line = line_;
    token.kind = scan(token.spelling);
    token.offset = begin;
    token.raw = text_.substr(begin, at_ - begin);
    if (token.spelling == "#" && line_is_empty_ && token.kind == TokenKind::kPunctuation) {
      in_directive_ = ++directives_;
      token.starts_directive = true;
    }
    token.directive = in_directive_;
    line_is_empty_ = false;
    tokens_.push_back(std::move(token));
  }

  TokenKind scan(std::string& spelling) {
    const char c = peek();
    if (starts_identifier(c)) {
      take_while(spelling, continues_identifier);
      if (peek() == '"' || peek() == '\'') return scan_prefixed(spelling);
      return TokenKind::kIdentifier;
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      scan_number(spelling);
      return TokenKind::kNumber;
    }
    if (c == '"' || c == '\'') {
      scan_quoted(spelling, c);
      return TokenKind::kLiteral;
    }
    scan_punctuation(spelling);
    return TokenKind::kPunctuation;
  }

  template <class Predicate>
  void take_while(std::string& spelling, Predicate&& wanted) {
    while (!done()) {
      if (std::size_t splice = splice_at(at_)) {
        step(splice);
      } else if (wanted(peek())) {
        spelling += peek();
        step();
      } else {
        return;
      }
    }
  }

  TokenKind scan_prefixed(std::string& spelling) {
    static constexpr std::array<std::string_view, 4> kPlain = {"u8", "u", "U", "L"};
    static constexpr std::array<std::string_view, 5> kRaw = {"R", "u8R", "uR", "UR", "LR"};
    if (peek() == '"' && std::find(kRaw.begin(), kRaw.end(), spelling) != kRaw.end()) {
      scan_raw_string(spelling);
      return TokenKind::kLiteral;
    }
    if (std::find(kPlain.begin(), kPlain.end(), spelling) != kPlain.end()) {
      scan_quoted(spelling, peek());
      return TokenKind::kLiteral;
    }
    return TokenKind::kIdentifier;
  }

  void scan_number(std::string& spelling) {
    while (!done()) {
      const char c = peek();
      const char last = spelling.empty() ? '\0' : spelling.back();
      const bool exponent =
          (c == '+' || c == '-') && (last == 'e' || last == 'E' || last == 'p' || last == 'P');
      const bool separator = c == '\'' && continues_identifier(peek(1));
      if (std::size_t splice = splice_at(at_)) {
        step(splice);
      } else if (continues_identifier(c) || c == '.' || exponent || separator) {
        spelling += c;
        step();
      } else {
        return;
      }
    }
  }

  void scan_quoted(std::string& spelling, char quote) {
    spelling += quote;
    step();
    while (!done() && peek() != '\n') {
      if (std::size_t splice = splice_at(at_)) {
        step(splice);
        continue;
      }
      const char c = peek();
      spelling += c;
      step();
      if (c == quote) return;
      if (c == '\\' && !done() && peek() != '\n') {
        spelling += peek();
        step();
      }
    }
  }

  void scan_raw_string(std::string& spelling) {
    const std::size_t begin = at_;
    const std::size_t open = text_.find('(', at_);
    std::size_t end = text_.size();
    if (open != std::string_view::npos && open - at_ <= 17) {
      const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
      const std::size_t found = text_.find(close, open + 1);
      if (found != std::string_view::npos) end = found + close.size();
    } else {
      end = at_ + 1;  // malformed: the compiler will say so
    }
    spelling += text_.substr(begin, end - begin);
    step(end - begin);
  }

  void scan_punctuation(std::string& spelling) {
    for (const Digraph& digraph : kDigraphs) {
      // "<::" is "<" "::" unless a ':' or '>' follows.
      const bool scope = digraph.raw == "<:" && peek(2) == ':' && peek(3) != ':' && peek(3) != '>';
      if (looking_at(digraph.raw) && !scope) {
        spelling = digraph.meaning;
        step(digraph.raw.size());
        return;
      }
    }
    for (std::string_view punctuation : kLongPunctuation) {
      if (looking_at(punctuation)) {
        spelling = punctuation;
        step(punctuation.size());
        return;
      }
    }
    spelling = peek();
    step();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int directives_ = 0;
  int in_directive_ = 0;
  bool line_is_empty_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace ak::cpu
