#pragma once
// Element types of tensors.

#include <cstddef>
#include <optional>
#include <string_view>

namespace ak {

enum class DType { kF32, kF16, kBF16, kF64, kI32, kI64 };

std::string_view name(DType dtype);  ///< "f32", "f16", "bf16", "f64", "i32", "i64"
std::optional<DType> dtype_from_name(std::string_view name);
std::size_t size_bytes(DType dtype);
/// Unit roundoff u (half the spacing at 1): 2^-24, 2^-11, 2^-8, 2^-53; 0 for integers.
double unit_roundoff(DType dtype);

}  // namespace ak
