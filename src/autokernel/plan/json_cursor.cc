#include "autokernel/plan/json_cursor.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace ak::plan {
namespace {

constexpr int kMaxDepth = 64;

void append_utf8(std::string& text, unsigned code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | (code >> 12));
    text += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

char unescaped_char(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    default:
      return c;  // quote, backslash, slash
  }
}

}  // namespace

bool JsonCursor::string(std::string_view& raw) {
  if (!take('"')) return false;
  const char* begin = at_;
  for (;;) {
    const auto left = static_cast<std::size_t>(end_ - at_);
    const char* quote = static_cast<const char*>(std::memchr(at_, '"', left));
    if (quote == nullptr) {
      at_ = end_;
      return false;
    }
    const char* before = quote;
    while (before > begin && before[-1] == '\\') --before;
    at_ = quote + 1;
    if ((quote - before) % 2 != 0) continue;  // an escaped quote
    raw = {begin, static_cast<std::size_t>(quote - begin)};
    return true;
  }
}

bool JsonCursor::scalar() {
  const char* begin = at_;
  for (;; ++at_) {
    const char c = *at_;
    const bool part = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '-' || c == '+' || c == '.' || c == '_';
    if (!part) return at_ != begin && at_ != end_;  // a number may go on behind the end
  }
}

bool JsonCursor::nested() {
  char closers[kMaxDepth];
  int depth = 0;
  std::string_view ignored;
  for (;;) {
    const char c = *at_;
    if (c == '"') {
      if (!string(ignored)) return false;
      continue;
    }
    if (c == '\0') return false;
    ++at_;
    if (c == '[' || c == '{') {
      if (depth == kMaxDepth) return false;
      closers[depth++] = c == '[' ? ']' : '}';
    } else if (c == ']' || c == '}') {
      if (closers[--depth] != c) {
        --at_;
        return false;
      }
      if (depth == 0) return true;
    }
  }
}

bool JsonCursor::value(std::string_view& raw) {
  const char first = peek();
  const char* begin = at_;
  std::string_view ignored;
  const bool ok = first == '"' ? string(ignored) : first == '[' || first == '{' ? nested() : scalar();
  raw = {begin, static_cast<std::size_t>(at_ - begin)};
  return ok;
}

std::optional<std::int64_t> parse_thousandths(std::string_view number) {
  const bool negative = number.starts_with('-');
  if (negative) number.remove_prefix(1);
  std::int64_t value = 0;
  int decimals = -1;
  for (const char c : number) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
    } else if (c >= '0' && c <= '9') {
      if (decimals == 3) continue;
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value))
        return std::nullopt;
      if (decimals >= 0) ++decimals;
    } else {  // an exponent, which profilers do not write but other tools do
      double real = 0;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), real);
      if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
      real *= 1000;
      if (!(std::fabs(real) < 9e18)) return std::nullopt;
      return static_cast<std::int64_t>(negative ? -real : real);
    }
  }
  if (number.empty()) return std::nullopt;
  for (decimals = decimals < 0 ? 0 : decimals; decimals < 3; ++decimals) {
    if (__builtin_mul_overflow(value, 10, &value)) return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view number) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return value;
}

std::string unescaped(std::string_view raw) {
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    const char c = raw[++i];
    unsigned code = 0;
    if (c == 'u' && i + 4 < raw.size() &&
        std::from_chars(raw.data() + i + 1, raw.data() + i + 5, code, 16).ptr == raw.data() + i + 5) {
      append_utf8(text, code);
      i += 4;
    } else {
      text += unescaped_char(c);
    }
  }
  return text;
}

}  // namespace ak::plan
