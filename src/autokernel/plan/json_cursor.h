#pragma once
// A cursor over JSON text of which more may follow: the hot path of reading traces (nlohmann's SAX parser
// takes three times as long). It finds the ends of values and hands out slices; it does not build anything.
//
// Every function returns false at an error or where the text ends too early; `at_end()` tells the two apart:
// the caller then fetches more text and begins the value again.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ak::plan {

class JsonCursor {
 public:
  /// A zero byte must follow the text.
  explicit JsonCursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  const char* position() const { return at_; }
  bool at_end() const { return at_ == end_; }

  /// The next character that is no blank; 0 at the end.
  char peek() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r') ++at_;
    return *at_;
  }
  /// Takes a character after blanks.
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  /// A string; the slice between its quotes, escapes as they are.
  bool string(std::string_view& raw);
  /// Any value; the slice with its brackets or quotes.
  bool value(std::string_view& raw);
  bool skip() {
    std::string_view ignored;
    return value(ignored);
  }
  /// `"key":`
  bool key(std::string_view& name) { return string(name) && take(':'); }

 private:
  bool scalar();
  bool nested();

  const char* at_;
  const char* end_;
};

/// A number with up to three decimals as thousands: "12.5" -> 12500 (ns of us). Further decimals are cut off.
std::optional<std::int64_t> parse_thousandths(std::string_view number);
std::optional<std::uint64_t> parse_unsigned(std::string_view number);

/// The text of a string's raw slice; broken escapes stay as they are.
std::string unescaped(std::string_view raw);

}  // namespace ak::plan
