#include "autokernel/device/cuda/ptx_lexer.h"

#include <algorithm>
#include <cctype>

namespace ak::cuda {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}

/// Words and marks; comments are dropped, strings are one word with their quotes.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  /// An empty word at the end of the text.
  Result<std::string_view> next() {
    AK_TRY_VOID(skip_space());
    if (at_ >= text_.size()) return std::string_view();
    const std::size_t begin = at_;
    if (text_[at_] == '"') return string();
    if (!is_word(text_[at_])) {
      ++at_;
      return text_.substr(begin, 1);
    }
    while (at_ < text_.size()) {
      if (is_word(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "::") {
        at_ += 2;
      } else {
        break;
      }
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  Status skip_space() {
    while (at_ < text_.size()) {
      const std::string_view two = text_.substr(at_, 2);
      if (two == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (two == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return internal_error("a comment does not end");
        at_ = end + 2;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '\0') {
        ++at_;
      } else {
        break;
      }
    }
    return {};
  }

  Result<std::string_view> string() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return internal_error("a string does not end");
    return text_.substr(begin, ++at_ - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_function_head(const std::vector<std::string_view>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](std::string_view word) { return word == ".entry" || word == ".func"; });
}

/// Directives that end with their line, not with a `;`: how many words they take, the directive included.
std::size_t words_without_semicolon(std::string_view directive) {
  if (directive == ".version" || directive == ".address_size") return 2;
  return 0;
}

class Splitter {
 public:
  Result<std::vector<PtxStatement>> split(std::string_view ptx) {
    Lexer lexer(ptx);
    while (true) {
      AK_TRY(word, lexer.next());
      if (word.empty()) break;
      AK_TRY_VOID(add(word));
    }
    if (scopes_ != 0 || inner_ != 0) return internal_error("a brace is not closed");
    finish_line_directive();
    if (!current_.words.empty()) return internal_error("the text ends inside `{}`", current_.words.front());
    return std::move(statements_);
  }

 private:
  Status add(std::string_view word) {
    if (inner_ != 0) {  // operands in braces, initializers
      inner_ += word == "{" ? 1 : word == "}" ? -1 : 0;
      current_.words.push_back(word);
      if (inner_ == 0 && current_.words.front() == ".section") end_statement();  // debug data
      return {};
    }
    if (word == "{") return open();
    if (word == "}") return close();
    if (word == ";") {
      end_statement();
      return {};
    }
    if (word == ":" && current_.words.size() == 1) {
      current_.words.clear();  // a label
      return {};
    }
    if (starts_anew(word)) finish_line_directive();
    current_.words.push_back(word);
    const std::size_t limit = words_without_semicolon(current_.words.front());
    if (limit != 0 && current_.words.size() == limit) end_statement();
    return {};
  }

  /// `.target sm_90a, debug`, `.loc 1 2 3` and `.file 1 "x"` have no end of their own.
  bool starts_anew(std::string_view word) const {
    if (current_.words.empty()) return false;
    const std::string_view first = current_.words.front();
    if (first != ".target" && first != ".loc" && first != ".file") return false;
    if (word == "inlined_at" || word == "function_name") return false;
    if (word.front() == '.') return true;
    const bool operand = std::isdigit(static_cast<unsigned char>(word.front())) != 0 || word == "," ||
                         word == "+" || word.front() == '"' || current_.words.back() == "," ||
                         current_.words.size() == 1 || current_.words.back() == "function_name";
    return !operand;
  }

  void finish_line_directive() {
    if (current_.words.empty()) return;
    const std::string_view first = current_.words.front();
    if (first == ".target" || first == ".loc" || first == ".file") end_statement();
  }

  Status open() {
    finish_line_directive();
    if (current_.words.empty()) {
      ++scopes_;
      return {};
    }
    if (is_function_head(current_.words)) {
      if (scopes_ != 0) return internal_error("a function inside of a function");
      current_.opens_body = true;
      function_ = ++functions_;
      end_statement();
      ++scopes_;
      return {};
    }
    current_.words.emplace_back("{");
    inner_ = 1;
    return {};
  }

  Status close() {
    finish_line_directive();
    if (scopes_ == 0) return internal_error("a brace closes nothing");
    if (!current_.words.empty()) return internal_error("`{}` has no end", current_.words.front());
    if (--scopes_ == 0) function_ = 0;
    return {};
  }

  void end_statement() {
    if (!current_.words.empty()) {
      current_.function = function_;
      statements_.push_back(std::move(current_));
    }
    current_ = {};
  }

  std::vector<PtxStatement> statements_;
  PtxStatement current_;
  int scopes_ = 0;     // braces that hold statements
  int inner_ = 0;      // braces inside of a statement
  int functions_ = 0;  // seen so far
  int function_ = 0;   // open now
};

}  // namespace

Result<std::vector<PtxStatement>> split_ptx(std::string_view ptx) { return Splitter().split(ptx); }

std::vector<std::string_view> ptx_parts(std::string_view word) {
  std::vector<std::string_view> parts;
  while (!word.empty()) {
    const std::size_t end = std::min(word.find_first_of(".:"), word.size());
    if (end != 0) parts.push_back(word.substr(0, end));
    word.remove_prefix(std::min(end + 1, word.size()));
  }
  return parts;
}

}  // namespace ak::cuda
