#pragma once
// A small family that tests change to make it wrong.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "autokernel/op/op_family.h"

namespace ak::op::testing {

inline constexpr std::string_view kSample = R"(schema = 1
name = "scale_rows"
about = "y = x * factor + bias, row by row"
dtypes = ["f32", "f16"]
dims = ["ROWS", "COLS"]
where = ["ROWS % GROUP == 0"]
[defaults]
ROWS = 8
[derived]
G = "ROWS / GROUP"
[[flag]]
name = "GROUP"
values = [1, 2]
range = [1, 16]
[[flag]]
name = "MODE"
values = [0, 1]
[scalars.factor]
default = 2
[scalars.IGNORE]
type = "int"
default = -100
[[tensor]]
name = "x"
role = "in"
shape = ["ROWS", "MODE ? COLS * 2 : COLS"]
[[tensor]]
name = "index"
role = "in"
shape = ["ROWS"]
dtype = "i64"
[[tensor]]
name = "bias"
role = "in"
shape = ["COLS"]
optional = true
[[tensor]]
name = "y"
role = "out"
shape = ["ROWS", "COLS"]
[[tensor]]
name = "sum"
role = "out"
shape = ["ROWS"]
with = "bias"
[cost]
flops = "ROWS * COLS * (1 + HAS_BIAS) + PAIRS"
bytes = "elem_bytes * 2 * ROWS * COLS"
[cost.count.PAIRS]
over = { i = "ROWS", k = "COLS" }
where = "i >= k"
[tolerance]
c = 2.5
[tolerance.row_elements]
y = "COLS"
sum = "ROWS"
[sizes]
smoke = [{ ROWS = 2, COLS = 3 }]
sweep = [{ COLS = 3, has = ["bias"], GROUP = 4, factor = 0.5 }]
edge = [{ ROWS = 1, COLS = 1 }]
primary = [{ ROWS = 64, COLS = 64 }]
[[draw]]
name = "normal"
stages = ["smoke", "time"]
zero_mean = true
tensors.x = { kind = "normal", stddev = 2 }
tensors.bias = { kind = "uniform", low = -1, high = 1 }
tensors.index = { kind = "integers", low = 0, high = "COLS", special = "IGNORE", special_share = 0.1 }
[[probe]]
kind = "spike"
tensor = "x"
height = 16
where = "MODE == 0"
[[match]]
aten = "aten::scale_rows"
args = ["self", "index"]
tensors = { x = "self", index = "index" }
results = ["y"]
)";

inline constexpr std::string_view kReference = "// the reference\n";

/// The sample with the first `from` replaced by `to`.
inline std::string changed(std::string_view from, std::string_view to) {
  std::string text(kSample);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

inline Result<Family> load_text(std::string_view text, std::string_view name = "scale_rows") {
  const EmbeddedFile files[] = {{"op.toml", text}, {"reference.cu", kReference}};
  return load_family(name, files);
}

inline Family sample() {
  Result<Family> family = load_text(kSample);
  EXPECT_TRUE(family.has_value()) << family.error().message;
  return family ? std::move(*family) : Family{};
}

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "(no error)" : result.error().message;
}

}  // namespace ak::op::testing
