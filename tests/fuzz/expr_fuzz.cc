// fuzz-deps: base
// Expressions: whatever the text, an error with a place or a value; never a crash, and both ways of
// evaluation agree.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "autokernel/base/expr.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expr = ak::Expr::parse(text);
  if (!expr) {
    const ak::ExprErrorPlace place = ak::place_of_expr_error(expr.error());
    AK_CHECK(place.column >= 1 && static_cast<std::size_t>(place.column) <= size + 1);
    AK_CHECK(!place.message.empty());
    return 0;
  }
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < expr->names().size(); ++i) {
    // Small numbers, zero, and the ends of the range.
    constexpr std::int64_t kValues[] = {3, 0, 1, -1, INT64_MAX, INT64_MIN, 64};
    values.push_back(kValues[(i + size) % std::size(kValues)]);
  }
  const auto by_slot = expr->evaluate(values);
  const auto by_name = expr->evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (expr->names()[i] == name) return values[i];
    }
    return std::nullopt;
  });
  AK_CHECK(by_slot.has_value() == by_name.has_value());
  if (by_slot) AK_CHECK(*by_slot == *by_name);
  if (!by_slot) AK_CHECK(by_slot.error().message == by_name.error().message);
  return 0;
}
