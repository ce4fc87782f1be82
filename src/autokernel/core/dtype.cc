#include "autokernel/core/dtype.h"

#include <cmath>

#include "autokernel/base/result.h"

namespace ak {
namespace {

struct Facts {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
  int roundoff_exponent;  // u = 2^exponent; 0: an integer
};

constexpr Facts kFacts[] = {
    {DType::kF32, "f32", 4, -24}, {DType::kF16, "f16", 2, -11}, {DType::kBF16, "bf16", 2, -8},
    {DType::kF64, "f64", 8, -53}, {DType::kI32, "i32", 4, 0},   {DType::kI64, "i64", 8, 0},
};

const Facts& facts(DType dtype) {
  for (const Facts& it : kFacts) {
    if (it.dtype == dtype) return it;
  }
  AK_CHECK(false);
  return kFacts[0];
}

}  // namespace

std::string_view name(DType dtype) { return facts(dtype).name; }
std::size_t size_bytes(DType dtype) { return facts(dtype).bytes; }

double unit_roundoff(DType dtype) {
  const int exponent = facts(dtype).roundoff_exponent;
  return exponent == 0 ? 0.0 : std::ldexp(1.0, exponent);
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const Facts& it : kFacts) {
    if (it.name == name) return it.dtype;
  }
  return std::nullopt;
}

}  // namespace ak
