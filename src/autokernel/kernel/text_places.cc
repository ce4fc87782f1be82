#include "autokernel/kernel/text_places.h"

#include <algorithm>

namespace ak::kernel {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

TextPosition position_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const auto more = std::count_if(line.begin(), line.end(), continues_character);
  return {static_cast<int>(lines) + 1, static_cast<int>(line.size()) - static_cast<int>(more) + 1};
}

std::size_t offset_of(std::string_view text, TextPosition place) {
  std::size_t at = 0;
  for (int line = 1; line < place.line; ++line) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    at = end + 1;
  }
  for (int column = 1; column < place.column && at < text.size() && text[at] != '\n'; ++column) {
    ++at;
    while (at < text.size() && continues_character(text[at])) ++at;
  }
  return at;
}

tl::unexpected<Error> error_at_offset(std::string_view text, std::string_view name, std::size_t offset,
                                      std::string_view message, std::string_view hint) {
  return tl::unexpected(
      Error{ErrorCode::kUsage, format_diagnostic({.name = std::string(name), .first_line = 1}, text,
                                                 position_at(text, offset), message, hint)});
}

}  // namespace ak::kernel
