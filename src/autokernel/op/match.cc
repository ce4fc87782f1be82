#include "autokernel/op/match.h"

#include <algorithm>

namespace ak::op {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

class StepParser {
 public:
  explicit StepParser(std::string_view text) : text_(text) {}

  Result<MatchStep> parse() {
    MatchStep step;
    do {
      AK_TRY(result, word("a result"));
      step.results.emplace_back(result);
    } while (take(','));
    AK_TRY_VOID(expect('='));
    AK_TRY(space, word("an op such as aten::mul"));
    AK_TRY_VOID(expect(':'));
    AK_TRY_VOID(expect(':'));
    AK_TRY(name, word("the op's name"));
    step.op = without_in_place(fmt::format("{}::{}", space, name));
    AK_TRY_VOID(expect('('));
    if (!take(')')) {
      do {
        AK_TRY(each, argument());
        step.arguments.push_back(std::move(each));
      } while (take(','));
      AK_TRY_VOID(expect(')'));
    }
    if (peek() != '\0') return wrong("nothing more");
    return step;
  }

 private:
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  Status expect(char c) {
    if (take(c)) return {};
    return wrong(fmt::format("`{}`", c));
  }
  tl::unexpected<Error> wrong(std::string_view expected) const {
    return usage_error("`{}`: column {}: expected {}", text_, at_ + 1, expected);
  }

  Result<std::string_view> word(std::string_view what) {
    if (!is_letter(peek())) return wrong(what);
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Result<MatchArgument> argument() {
    using Kind = MatchArgument::Kind;
    const char c = peek();
    if (c == '\'') return quoted();
    if (c == '[') return list();
    const std::size_t start = at_;
    AK_TRY(operand, simple(c));
    if (peek() == '\0' || std::string_view("+-*/%").find(peek()) == std::string_view::npos) return operand;
    at_ = std::min(text_.find_first_of(",)]", at_), text_.size());
    return MatchArgument{Kind::kExpression, std::string(text_.substr(start, at_ - start)), {}};
  }

  Result<MatchArgument> simple(char c) {
    using Kind = MatchArgument::Kind;
    if (c == '-' || is_digit(c)) {
      const std::size_t begin = at_++;
      while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '-')) ++at_;
      return MatchArgument{Kind::kLiteral, std::string(text_.substr(begin, at_ - begin)), {}};
    }
    AK_TRY(name, word("a name, a number, 'text', true, false, none, _ or a list"));
    if (name == "_") return MatchArgument{Kind::kAny, "_", {}};
    const bool literal = name == "true" || name == "false" || name == "none";
    return MatchArgument{literal ? Kind::kLiteral : Kind::kName, std::string(name), {}};
  }

  Result<MatchArgument> quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return wrong("a closing quote");
    MatchArgument literal{MatchArgument::Kind::kLiteral, std::string(text_.substr(at_, end - at_ + 1)), {}};
    at_ = end + 1;
    return literal;
  }

  Result<MatchArgument> list() {
    ++at_;
    MatchArgument list{MatchArgument::Kind::kList, {}, {}};
    bool names = false, literals = false;
    if (!take(']')) {
      do {
        AK_TRY(item, argument());
        if (item.kind == MatchArgument::Kind::kList) return wrong("names or numbers, no list in a list");
        const bool literal = item.kind == MatchArgument::Kind::kLiteral;
        (literal ? literals : names) = true;
        list.items.push_back(std::move(item));
      } while (take(','));
      AK_TRY_VOID(expect(']'));
    }
    if (names && literals) return wrong("a list of names or of numbers, not both");
    if (names) return list;
    std::string text;
    for (const MatchArgument& item : list.items) text += (text.empty() ? "" : ", ") + item.text;
    return MatchArgument{MatchArgument::Kind::kLiteral, "[" + text + "]", {}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view without_in_place(std::string_view op) {
  if (op.ends_with('_') && !op.ends_with("__")) op.remove_suffix(1);
  return op;
}

Result<MatchStep> parse_step(std::string_view text) { return StepParser(text).parse(); }

}  // namespace ak::op
