#include "autokernel/kernel/front_matter.h"

#include <algorithm>

#include "autokernel/kernel/text_places.h"

namespace ak::kernel {
namespace {

constexpr std::string_view kKeyword = "autokernel";
constexpr std::string_view kExample =
    "begin the file with\n    /* autokernel\n    op = \"softmax\"\n    dtypes = [\"f32\"]\n    [[launch]] "
    "...\n    */\n"
    "  (docs/reference/kernel-file.md)";

/// Past a literal that begins at `at` with a quote; an unterminated one ends with its line.
std::size_t skip_literal(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return std::min(at, text.size());
}

/// Past R"tag(...)tag"; `at` is the quote.
std::size_t skip_raw_string(std::string_view text, std::size_t at) {
  const std::size_t open = text.find('(', at);
  if (open == std::string_view::npos || open - at > 17) return skip_literal(text, at);
  const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
  const std::size_t end = text.find(close, open);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool is_front_matter(std::string_view comment) {
  comment.remove_prefix(2);
  comment.remove_prefix(std::min(comment.find_first_not_of(" \t\r\n*"), comment.size()));
  if (!comment.starts_with(kKeyword)) return false;
  comment.remove_prefix(kKeyword.size());
  return comment.empty() || !is_identifier_part(comment[0]);
}

std::size_t find_comment(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("/*")) {
      if (is_front_matter(rest)) return at;
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else if (rest.starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' && at > 0 && text[at - 1] == 'R') {
      at = skip_raw_string(text, at);
    } else if (c == '"' ||
               (c == '\'' && (at == 0 || !is_identifier_part(text[at - 1])))) {  // 1'000 is a number
      at = skip_literal(text, at);
    } else {
      ++at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

bool is_identifier_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_identifier(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), is_identifier_part);
}

bool mentions(std::string_view code, std::string_view word) {
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_identifier_part(code[at - 1]);
    const bool ends = end == code.size() || !is_identifier_part(code[end]);
    if (begins && ends) return true;
  }
  return false;
}

Result<FrontMatter> find_front_matter(std::string_view text, const std::string& name) {
  const std::size_t begin = find_comment(text);
  if (begin == std::string_view::npos) {
    return error_at_offset(text, name, 0,
                           "no front matter: a kernel file has a comment that begins with /* autokernel",
                           kExample);
  }
  FrontMatter found;
  found.comment_begin = begin;
  const std::size_t after = text.find(kKeyword, begin) + kKeyword.size();
  const std::size_t close = text.find("*/", after);
  if (close == std::string_view::npos) {
    return error_at_offset(text, name, begin, "the front matter's comment does not end", "close it with */");
  }
  found.toml_end = close;
  found.comment_end = close + 2;
  const std::size_t line_end = std::min(text.find('\n', after), close);
  const std::size_t extra = text.find_first_not_of(" \t\r", after);
  if (extra < line_end) {
    return error_at_offset(text, name, extra, "unexpected text after /* autokernel",
                           "the TOML begins on the line below it");
  }
  found.toml_begin = std::min(line_end + 1, close);
  found.first_line = position_at(text, found.toml_begin).line;
  return found;
}

Status check_text(std::string_view text, const std::string& name) {
  for (std::size_t at = 0; at < text.size();) {
    const auto head = static_cast<unsigned char>(text[at]);
    if (head == 0) {
      return error_at_offset(text, name, at, "a NUL byte", "a kernel file is text; is this a compiled file?");
    }
    std::size_t length = 1;
    if (head >= 0xc2 && head < 0xe0) length = 2;
    if (head >= 0xe0 && head < 0xf0) length = 3;
    if (head >= 0xf0 && head < 0xf5) length = 4;
    bool good = (head < 0x80 || length > 1) && at + length <= text.size();
    for (std::size_t i = 1; good && i < length; ++i) {
      good = (static_cast<unsigned char>(text[at + i]) & 0xc0) == 0x80;
    }
    if (good && length > 2) {
      const auto second = static_cast<unsigned char>(text[at + 1]);
      // Overlong forms, surrogates and values beyond U+10FFFF.
      good = !(head == 0xe0 && second < 0xa0) && !(head == 0xed && second >= 0xa0) &&
             !(head == 0xf0 && second < 0x90) && !(head == 0xf4 && second >= 0x90);
    }
    if (!good) return error_at_offset(text, name, at, "not valid UTF-8", "save the file as UTF-8");
    at += length;
  }
  return {};
}

}  // namespace ak::kernel
