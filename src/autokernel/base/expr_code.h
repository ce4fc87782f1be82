#pragma once
// The postfix code of an Expr. Jumps make ?:, && and || evaluate only what they need.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/expr.h"

namespace ak {

enum class ExprCode : std::uint8_t {
  kPush,  // value
  kLoad,  // value: index into names
  kNegate,
  kNot,
  kToBool,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kRemainder,
  kCeilDiv,
  kMin,
  kMax,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kJump,        // value: index of the next op
  kJumpIfZero,  // pops the condition
  kAnd,         // zero: stays and jumps; else it is popped
  kOr,          // non-zero: becomes 1 and jumps; else it is popped
};

struct Expr::Op {
  ExprCode code;
  std::uint32_t column;  // from 1, for errors
  std::int64_t value;
};

/// Values that an expression may hold at a time: the parser refuses what would need more, so that evaluation
/// needs no allocation and no check.
inline constexpr int kMaxExprStack = 512;

/// "column N: message", the expression and a caret below it.
tl::unexpected<Error> expr_error(std::string_view text, std::size_t column, std::string_view message);

}  // namespace ak
