#include "autokernel/plan/op_arguments.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "autokernel/base/json.h"

namespace ak::plan {
namespace {

constexpr std::size_t kMaxRank = 16;

std::optional<DType> dtype_of(std::string_view type) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {{"float", DType::kF32},
                                                                  {"c10::Half", DType::kF16},
                                                                  {"c10::BFloat16", DType::kBF16},
                                                                  {"double", DType::kF64},
                                                                  {"int", DType::kI32},
                                                                  {"long int", DType::kI64},
                                                                  {"long", DType::kI64},
                                                                  {"long long", DType::kI64},
                                                                  {"torch.float32", DType::kF32},
                                                                  {"torch.float16", DType::kF16},
                                                                  {"torch.bfloat16", DType::kBF16}};
  for (const auto& [name, dtype] : kTypes) {
    if (name == type) return dtype;
  }
  return std::nullopt;
}

std::vector<std::int64_t> integers(const Json& list) {
  std::vector<std::int64_t> values;
  if (!list.is_array() || list.size() > kMaxRank) return values;
  for (const Json& item : list) {
    if (!item.is_number_integer()) return {};
    values.push_back(item.get<std::int64_t>());
  }
  return values;
}

const Json& at(const Json& list, std::size_t index) {
  static const Json kNull;
  return list.is_array() && index < list.size() ? list[index] : kNull;
}

std::string text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? std::string() : value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Argument tensor(const Json& dims, const Json& strides) {
  Argument argument;
  argument.kind = Argument::Kind::kTensor;
  argument.dims = integers(dims);
  argument.strides = integers(strides);
  if (argument.strides.size() != argument.dims.size()) argument.strides.clear();
  return argument;
}

Argument make_argument(const Json& dims, std::string_view type, const Json& strides, const Json& value) {
  Argument argument;
  if (type.ends_with("TensorList") || type.ends_with("Tensor[]")) {
    argument.kind = Argument::Kind::kList;
    for (std::size_t i = 0; dims.is_array() && i < dims.size(); ++i)
      argument.items.push_back(tensor(dims[i], at(strides, i)));
    return argument;
  }
  argument.value = text(value);
  const bool plain = type.empty() || type == "Scalar" || type == "ScalarList" || type == "Int" ||
                     type == "Double" || type == "Bool" || type == "Int[]";
  if (!plain) {
    argument = tensor(dims, strides);
    argument.dtype = dtype_of(type);
    argument.value = text(value);
  } else if (!argument.value.empty()) {
    argument.kind = Argument::Kind::kValue;
  }
  return argument;
}

}  // namespace

std::vector<Argument> parse_arguments(std::string_view raw) {
  std::array<Json, 4> parts;
  for (Json& part : parts) {
    const std::size_t end = raw.find('\x1e');
    part = Json::parse(raw.substr(0, end), nullptr, false);
    raw.remove_prefix(end == std::string_view::npos ? raw.size() : end + 1);
  }
  const auto& [dims, types, strides, values] = parts;
  std::vector<Argument> arguments;
  for (std::size_t i = 0; dims.is_array() && i < dims.size(); ++i) {
    arguments.push_back(make_argument(dims[i], text(at(types, i)), at(strides, i), at(values, i)));
  }
  return arguments;
}

std::optional<double> number_of(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

std::optional<std::vector<double>> numbers_of(std::string_view value) {
  const bool list = value.size() >= 2 && value.front() == '[' && value.back() == ']';
  if (list) value = value.substr(1, value.size() - 2);
  std::vector<double> numbers;
  if (list && value.empty()) return numbers;
  for (;;) {
    const std::size_t comma = value.find(',');
    std::string_view item = value.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    const std::optional<double> number = number_of(item);
    if (!number || (!list && comma != std::string_view::npos)) return std::nullopt;
    numbers.push_back(*number);
    if (comma == std::string_view::npos) return numbers;
    value.remove_prefix(comma + 1);
  }
}

}  // namespace ak::plan
