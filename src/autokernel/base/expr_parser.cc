#include <algorithm>
#include <charconv>
#include <utility>

#include "autokernel/base/expr_code.h"

namespace ak {
namespace {

constexpr int kMaxNesting = 64;
constexpr std::size_t kMaxLength = 16 * 1024;

struct BinaryOperator {
  std::string_view spelling;
  int precedence;
  ExprCode code;
};

// Longer spellings first.
constexpr BinaryOperator kOperators[] = {
    {"||", 1, ExprCode::kOr},       {"&&", 2, ExprCode::kAnd},       {"==", 3, ExprCode::kEqual},
    {"!=", 3, ExprCode::kNotEqual}, {"<=", 4, ExprCode::kLessEqual}, {">=", 4, ExprCode::kGreaterEqual},
    {"<", 4, ExprCode::kLess},      {">", 4, ExprCode::kGreater},    {"+", 5, ExprCode::kAdd},
    {"-", 5, ExprCode::kSubtract},  {"*", 6, ExprCode::kMultiply},   {"/", 6, ExprCode::kDivide},
    {"%", 6, ExprCode::kRemainder},
};

struct Function {
  std::string_view name;
  ExprCode code;
  int min_arguments, max_arguments;
};

constexpr Function kFunctions[] = {
    {"min", ExprCode::kMin, 2, 1 << 20},
    {"max", ExprCode::kMax, 2, 1 << 20},
    {"ceil_div", ExprCode::kCeilDiv, 2, 2},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

// What single characters that look like operators should have been.
std::string_view meant_by(char c) {
  switch (c) {
    case '=':
      return " (equality is '==')";
    case '&':
      return " (and is '&&')";
    case '|':
      return " (or is '||')";
    case '.':
      return " (numbers are integers)";
    default:
      return "";
  }
}

}  // namespace

class ExprParser {
 public:
  explicit ExprParser(std::string_view text) : text_(text) {}

  Result<Expr> parse() {
    if (text_.size() > kMaxLength) {
      return usage_error("column {}: the expression is longer than {} characters", kMaxLength, kMaxLength);
    }
    AK_TRY_VOID(parse_conditional());
    if (skip_blanks(); at_ < text_.size()) return unexpected("an operator or the end");
    Expr expr;
    expr.text_ = text_;
    expr.names_ = std::move(names_);
    expr.code_ = std::make_shared<const std::vector<Expr::Op>>(std::move(code_));
    return expr;
  }

 private:
  /// binary ['?' conditional ':' conditional]; the else branch is a loop, so chains do not count as nesting.
  Status parse_conditional() {
    std::vector<std::size_t> jumps_to_end;
    for (;;) {
      AK_TRY_VOID(parse_binary(1));
      if (!accept("?")) break;
      const std::size_t to_else = emit(ExprCode::kJumpIfZero, last_, -1);
      AK_TRY_VOID(enter());
      AK_TRY_VOID(parse_conditional());
      --nesting_;
      if (!accept(":")) return unexpected("':'");
      jumps_to_end.push_back(emit(ExprCode::kJump, last_, -1));  // one of the two branches leaves its value
      land(to_else);
    }
    for (std::size_t jump : jumps_to_end) land(jump);
    return {};
  }

  Status parse_binary(int min_precedence) {
    AK_TRY_VOID(parse_unary());
    for (;;) {
      skip_blanks();
      const auto* op =
          std::find_if(std::begin(kOperators), std::end(kOperators),
                       [&](const BinaryOperator& it) { return text_.substr(at_).starts_with(it.spelling); });
      if (op == std::end(kOperators) || op->precedence < min_precedence) return {};
      const std::size_t column = at_ + 1;
      at_ += op->spelling.size();
      if (op->code == ExprCode::kAnd || op->code == ExprCode::kOr) {
        const std::size_t short_cut = emit(op->code, column, -1);
        AK_TRY_VOID(parse_binary(op->precedence + 1));
        emit(ExprCode::kToBool, column, 0);
        land(short_cut);
      } else {
        AK_TRY_VOID(parse_binary(op->precedence + 1));
        emit(op->code, column, -1);
      }
    }
  }

  Status parse_unary() {
    skip_blanks();
    const std::size_t column = at_ + 1;
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c != '-' && c != '+' && c != '!') return parse_primary();
    ++at_;
    AK_TRY_VOID(enter());
    AK_TRY_VOID(parse_unary());
    --nesting_;
    if (c == '-') emit(ExprCode::kNegate, column, 0);
    if (c == '!') emit(ExprCode::kNot, column, 0);
    return {};
  }

  Status parse_primary() {
    if (accept("(")) {
      AK_TRY_VOID(enter());
      AK_TRY_VOID(parse_conditional());
      --nesting_;
      if (!accept(")")) return unexpected("an operator or ')'");
      return {};
    }
    if (at_ < text_.size() && is_digit(text_[at_])) return parse_number();
    if (at_ < text_.size() && is_name_start(text_[at_])) return parse_name();
    return unexpected("a number, a name or '('");
  }

  Status parse_number() {
    const std::size_t start = at_;
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    at_ = static_cast<std::size_t>(end - text_.data());
    if (status == std::errc::result_out_of_range) {
      return expr_error(text_, start + 1, "the number does not fit into 64 bits");
    }
    const bool goes_on = at_ < text_.size() && (is_name_part(text_[at_]) || text_[at_] == '.');
    if (goes_on || (text_[start] == '0' && at_ - start > 1)) {
      return expr_error(text_, start + 1, "expected a decimal integer (no hex, octal, suffix or fraction)");
    }
    return push(ExprCode::kPush, start + 1, value);
  }

  Status parse_name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (accept("(")) return parse_call(name, start + 1);
    if (name == "true" || name == "false") return push(ExprCode::kPush, start + 1, name == "true");
    auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) found = names_.insert(names_.end(), std::string(name));
    return push(ExprCode::kLoad, start + 1, found - names_.begin());
  }

  Status parse_call(std::string_view name, std::size_t column) {
    const auto* function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                        [&](const Function& it) { return it.name == name; });
    if (function == std::end(kFunctions)) {
      return expr_error(text_, column,
                        fmt::format("unknown function '{}'; there are min, max and ceil_div", name));
    }
    AK_TRY_VOID(enter());
    int arguments = 0;
    do {
      AK_TRY_VOID(parse_conditional());
      if (++arguments > 1) emit(function->code, column, -1);
    } while (accept(","));
    --nesting_;
    if (!accept(")")) return unexpected("',' or ')'");
    if (arguments < function->min_arguments || arguments > function->max_arguments) {
      return expr_error(text_, column,
                        fmt::format("{} takes {}two arguments, {} given", name,
                                    function->max_arguments == 2 ? "" : "at least ", arguments));
    }
    return {};
  }

  Status enter() {
    if (++nesting_ <= kMaxNesting) return {};
    return expr_error(text_, last_, fmt::format("nested deeper than {} levels", kMaxNesting));
  }

  Status push(ExprCode code, std::size_t column, std::int64_t value) {
    emit(code, column, 1);
    code_.back().value = value;
    if (depth_ <= kMaxExprStack) return {};
    return expr_error(text_, column, "too many operands wait for an operator");
  }

  std::size_t emit(ExprCode code, std::size_t column, int depth_change) {
    code_.push_back({code, static_cast<std::uint32_t>(column), 0});
    depth_ += depth_change;
    return code_.size() - 1;
  }

  void land(std::size_t jump) { code_[jump].value = static_cast<std::int64_t>(code_.size()); }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
    last_ = at_ + 1;
  }

  bool accept(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  tl::unexpected<Error> unexpected(std::string_view expected) {
    skip_blanks();
    if (at_ == text_.size()) {
      return expr_error(text_, at_ + 1, fmt::format("expected {}, found the end", expected));
    }
    const char c = text_[at_];
    const std::string found = c >= ' ' && c <= '~' ? fmt::format("'{}'", c) : "a character that is not ASCII";
    return expr_error(text_, at_ + 1, fmt::format("expected {}, found {}{}", expected, found, meant_by(c)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t last_ = 1;  // column of the last token
  int nesting_ = 0;
  int depth_ = 0;
  std::vector<Expr::Op> code_;
  std::vector<std::string> names_;
};

Result<Expr> Expr::parse(std::string_view text) { return ExprParser(text).parse(); }

}  // namespace ak
