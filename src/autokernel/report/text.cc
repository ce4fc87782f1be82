#include "autokernel/report/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace ak::report {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// Length of the UTF-8 character at the head of `text`, 0 when there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = first < 0x80                    ? 1
                       : first >= 0xc2 && first < 0xe0 ? 2
                       : first >= 0xe0 && first < 0xf0 ? 3
                                                       : 0;
  if (first >= 0xf0 && first < 0xf5) length = 4;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;                      // overlong
  if (first == 0xed && byte(1) >= 0xa0) return 0;                     // surrogates
  if (first == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe) return 0;  // U+FFFE, U+FFFF: not in XML
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) return 0;
  return length;
}

/// Calls `emit` with each character; what is none, and control characters but tab and line end, as U+FFFD.
template <class Emit>
void for_each_character(std::string_view text, Emit&& emit) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const unsigned char first = static_cast<unsigned char>(text.front());
    const bool control = length == 1 && (first < 0x20 || first == 0x7f) && first != '\n' && first != '\t';
    const bool c1_control = length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    emit(length == 0 || control || c1_control ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string result;
  for_each_character(text, [&](std::string_view c) {
    if (c == "&")
      result += "&amp;";
    else if (c == "<")
      result += "&lt;";
    else if (c == ">")
      result += "&gt;";
    else if (c == "\"")
      result += "&quot;";
    else if (c == "'")
      result += "&#39;";
    else
      result += c;
  });
  return result;
}

std::string escape_markdown(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]<>#|!~&$";
  std::string result;
  for_each_character(text, [&](std::string_view c) {
    if (c == "\n" || c == "\t") {
      result += ' ';
    } else {
      if (c.size() == 1 && kMarkup.find(c.front()) != kMarkup.npos) result += '\\';
      result += c;
    }
  });
  return result;
}

std::string fenced(std::string_view text) {
  std::size_t longest = 0, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(std::max<std::size_t>(3, longest + 1), '`');
  std::string clean;
  for_each_character(text, [&](std::string_view c) { clean += c; });
  while (clean.ends_with('\n')) clean.pop_back();
  return fence + "text\n" + clean + "\n" + fence + "\n";
}

std::string plain_line(std::string_view text, std::size_t width) {
  std::string result;
  std::size_t count = 0;
  bool cut = false;
  for_each_character(text, [&](std::string_view c) {
    if (count + 1 > width) {
      cut = true;
      return;
    }
    result += c == "\n" || c == "\t" ? " " : c;
    ++count;
  });
  if (!cut) return result;
  while (!result.empty() && (static_cast<unsigned char>(result.back()) & 0xc0) == 0x80) result.pop_back();
  if (!result.empty()) result.pop_back();
  return result + "…";
}

std::string number_text(double value, int digits) {
  if (!std::isfinite(value)) return "n/a";
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  if (magnitude > 7) return fmt::format("{:.{}g}", value, digits);
  return fmt::format("{:.{}f}", value, std::clamp(digits - magnitude, 0, 9));
}

std::string time_text(double us) {
  if (!std::isfinite(us)) return "n/a";
  if (us >= 1e6) return number_text(us / 1e6) + " s";
  if (us >= 1e4) return number_text(us / 1e3) + " ms";
  return number_text(us) + " µs";
}

std::string time_text(const TimeEstimate& time) {
  const double scale = time.median_us >= 1e6 ? 1e6 : time.median_us >= 1e4 ? 1e3 : 1;
  return fmt::format("{} ({} to {})", time_text(time.median_us), number_text(time.ci_low_us / scale),
                     number_text(time.ci_high_us / scale));
}

std::string ratio_text(double ratio) { return number_text(ratio) + "x"; }

std::string optional_text(const std::optional<double>& us) { return us ? time_text(*us) : "n/a"; }

}  // namespace ak::report
