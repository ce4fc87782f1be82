#include "autokernel/base/expr.h"

#include <charconv>

#include "autokernel/base/expr_code.h"

namespace ak {
namespace {

// Printable ASCII only, one character a byte, so that the caret stands where the column says and the message
// can be written as JSON.
std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
    if (c < ' ' || c > '~') c = '?';
  }
  return line;
}

enum class Fault { kNone, kOverflow, kDivisionByZero };

Fault divide(std::int64_t a, std::int64_t b, std::int64_t& quotient, std::int64_t& remainder) {
  if (b == 0) return Fault::kDivisionByZero;
  if (b == -1) {  // INT64_MIN / -1 traps
    remainder = 0;
    return __builtin_sub_overflow(std::int64_t{0}, a, &quotient) ? Fault::kOverflow : Fault::kNone;
  }
  quotient = a / b;
  remainder = a % b;
  return Fault::kNone;
}

Fault apply(ExprCode code, std::int64_t& a, std::int64_t b) {
  std::int64_t quotient = 0, remainder = 0;
  Fault fault = Fault::kNone;
  switch (code) {
    case ExprCode::kAdd:
      return __builtin_add_overflow(a, b, &a) ? Fault::kOverflow : Fault::kNone;
    case ExprCode::kSubtract:
      return __builtin_sub_overflow(a, b, &a) ? Fault::kOverflow : Fault::kNone;
    case ExprCode::kMultiply:
      return __builtin_mul_overflow(a, b, &a) ? Fault::kOverflow : Fault::kNone;
    case ExprCode::kDivide:
      fault = divide(a, b, quotient, remainder);
      a = quotient;
      return fault;
    case ExprCode::kRemainder:
      fault = divide(a, b, quotient, remainder);
      a = remainder;
      return fault;
    case ExprCode::kCeilDiv:
      fault = divide(a, b, quotient, remainder);
      a = quotient + (remainder != 0 && (remainder > 0) == (b > 0) ? 1 : 0);
      return fault;
    case ExprCode::kMin:
      a = b < a ? b : a;
      break;
    case ExprCode::kMax:
      a = b > a ? b : a;
      break;
    case ExprCode::kEqual:
      a = a == b;
      break;
    case ExprCode::kNotEqual:
      a = a != b;
      break;
    case ExprCode::kLess:
      a = a < b;
      break;
    case ExprCode::kLessEqual:
      a = a <= b;
      break;
    case ExprCode::kGreater:
      a = a > b;
      break;
    case ExprCode::kGreaterEqual:
      a = a >= b;
      break;
    default:
      AK_CHECK(false);
  }
  return Fault::kNone;
}

std::string describe(Fault fault) {
  return fault == Fault::kOverflow ? "the result does not fit into 64 bits" : "division by zero";
}

}  // namespace

tl::unexpected<Error> expr_error(std::string_view text, std::size_t column, std::string_view message) {
  return usage_error("column {}: {}\n  {}\n  {:>{}}", column, message, one_line(text), '^', column);
}

ExprErrorPlace place_of_expr_error(const Error& error) {
  constexpr std::string_view kPrefix = "column ";
  std::string_view text = error.message;
  ExprErrorPlace place{1, error.message};
  if (!text.starts_with(kPrefix)) return place;
  text.remove_prefix(kPrefix.size());
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), place.column);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (status != std::errc() || !text.starts_with(": ")) return {1, error.message};
  text.remove_prefix(2);
  place.message = text.substr(0, text.find("\n  "));
  return place;
}

template <class Load>
Result<std::int64_t> Expr::run(const Load& load) const {
  AK_CHECK(code_ != nullptr);  // an Expr comes from parse
  // Not initialised: the parser has proved that every value is written before it is read.
  std::int64_t stack[kMaxExprStack + 1];
  std::int64_t* top = stack;  // the element below the first one, so that an empty stack has a top
  const std::vector<Op>& code = *code_;
  const std::size_t size = code.size();
  for (std::size_t i = 0; i < size; ++i) {
    const Op& op = code[i];
    switch (op.code) {
      case ExprCode::kPush:
        *++top = op.value;
        break;
      case ExprCode::kLoad:
        if (!load(static_cast<std::size_t>(op.value), *++top)) {
          return expr_error(text_, op.column, fmt::format("unknown name '{}'", names_[op.value]));
        }
        break;
      case ExprCode::kNegate:
        if (__builtin_sub_overflow(std::int64_t{0}, *top, top)) {
          return expr_error(text_, op.column, describe(Fault::kOverflow));
        }
        break;
      case ExprCode::kNot:
        *top = *top == 0;
        break;
      case ExprCode::kToBool:
        *top = *top != 0;
        break;
      // The loop adds one to the index.
      case ExprCode::kJump:
        i = static_cast<std::size_t>(op.value) - 1;
        break;
      case ExprCode::kJumpIfZero:
        if (*top-- == 0) i = static_cast<std::size_t>(op.value) - 1;
        break;
      case ExprCode::kAnd:
        if (*top == 0) {
          i = static_cast<std::size_t>(op.value) - 1;
        } else {
          --top;
        }
        break;
      case ExprCode::kOr:
        if (*top != 0) {
          *top = 1;
          i = static_cast<std::size_t>(op.value) - 1;
        } else {
          --top;
        }
        break;
      default:
        --top;
        if (const Fault fault = apply(op.code, *top, top[1]); fault != Fault::kNone) {
          return expr_error(text_, op.column, describe(fault));
        }
    }
  }
  return *top;
}

Result<std::int64_t> Expr::evaluate(const Lookup& lookup) const {
  return run([&](std::size_t slot, std::int64_t& value) {
    const std::optional<std::int64_t> found = lookup(names_[slot]);
    if (found) value = *found;
    return found.has_value();
  });
}

Result<std::int64_t> Expr::evaluate(std::span<const std::int64_t> values) const {
  AK_CHECK(values.size() >= names_.size());
  return run([&](std::size_t slot, std::int64_t& value) {
    value = values[slot];
    return true;
  });
}

}  // namespace ak
