#include <algorithm>

#include "autokernel/base/toml.h"

namespace ak {
namespace {

constexpr std::size_t kShownColumns = 120;

std::string_view line_of(std::string_view text, int line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

/// Bytes of the UTF-8 sequence at the head of `text`, or 0 when it is not one.
std::size_t sequence_length(std::string_view text) {
  const auto head = static_cast<unsigned char>(text[0]);
  const std::size_t length = head < 0x80                   ? 1
                             : head >= 0xc2 && head < 0xe0 ? 2
                             : head >= 0xe0 && head < 0xf0 ? 3
                             : head >= 0xf0 && head < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  const auto second = length > 1 ? static_cast<unsigned char>(text[1]) : 0;
  // Overlong forms, surrogates and values beyond U+10FFFF.
  if ((head == 0xe0 && second < 0xa0) || (head == 0xed && second >= 0xa0) ||
      (head == 0xf0 && second < 0x90) || (head == 0xf4 && second >= 0x90)) {
    return 0;
  }
  return length;
}

/// One string a column. What is no text becomes '?', a tab one blank, so that the caret fits and the message
/// can be written as JSON.
std::vector<std::string> columns_of(std::string_view line) {
  std::vector<std::string> columns;
  while (!line.empty()) {
    const std::size_t length = sequence_length(line);
    const char c = line[0];
    if (c == '\t') {
      columns.emplace_back(" ");
    } else if (length == 0 || (c >= 0 && c < ' ') || c == 0x7f) {
      columns.emplace_back("?");
    } else {
      columns.emplace_back(line.substr(0, length));
    }
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return columns;
}

}  // namespace

std::string format_diagnostic(const TextOrigin& origin, std::string_view text, TextPosition position,
                              std::string_view message, std::string_view hint) {
  std::string shown = fmt::format("{}:{}:{}: {}", origin.name, position.line, position.column, message);
  const std::vector<std::string> columns = columns_of(line_of(text, position.line - origin.first_line + 1));
  // The caret may stand one beyond the end (something is missing there), no further.
  const std::size_t caret =
      std::min(static_cast<std::size_t>(std::max(position.column, 1) - 1), columns.size());
  const std::size_t from =
      columns.size() > kShownColumns && caret > kShownColumns / 2 ? caret - kShownColumns / 2 : 0;
  const std::size_t to = std::min(columns.size(), from + kShownColumns);
  shown += "\n  ";
  for (std::size_t i = from; i < to; ++i) shown += columns[i];
  shown += "\n  " + std::string(caret - from, ' ') + '^';
  if (!hint.empty()) shown += fmt::format("\n  hint: {}", hint);
  return shown;
}

}  // namespace ak
