#include "autokernel/device/source_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string_view>

namespace ak::device {
namespace {

// Words whose redefinition would change the language, or the prefix itself, and not the kernel.
constexpr std::array<std::string_view, 20> kReserved = {
    "if",   "else",  "for",      "while",  "do",      "return", "int",      "float",  "double",  "char",
    "void", "const", "unsigned", "struct", "typedef", "long",   "template", "static", "defined", "scalar_t"};

bool is_identifier(std::string_view name) {
  const auto letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  return !name.empty() && letter(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return letter(byte) || std::isdigit(byte) != 0;
         });
}

Status check_macro_name(std::string_view kind, std::string_view name) {
  if (!is_identifier(name)) return usage_error("{} `{}` is not a C++ identifier", kind, name);
  const bool reserved = std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
  if (reserved || name.starts_with("__") || name.starts_with("AK_")) {
    return usage_error("{} `{}` cannot be a macro: the name is taken; choose another", kind, name);
  }
  return {};
}

std::string literal(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807LL - 1)";
  const bool is_int =
      value >= std::numeric_limits<int>::min() + 1LL && value <= std::numeric_limits<int>::max();
  const std::string digits = fmt::format("{}{}", value, is_int ? "" : "LL");
  return value < 0 ? fmt::format("({})", digits) : digits;
}

Result<std::string> macro_value(std::string_view name, const TunableValue& value) {
  if (const auto number = as_int(value)) return literal(*number);
  std::string text = to_string(value);
  if (text.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos || text.ends_with('\\')) {
    return usage_error("tunable `{}`: a value must fit on one line", name);
  }
  return text;
}

std::string_view scalar_lines(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "#define AK_DTYPE_F32 1\ntypedef float scalar_t;\n";
    case DType::kF16:
      return "#include <cuda_fp16.h>\n#define AK_DTYPE_F16 1\ntypedef __half scalar_t;\n";
    case DType::kBF16:
      return "#include <cuda_bf16.h>\n#define AK_DTYPE_BF16 1\ntypedef __nv_bfloat16 scalar_t;\n";
    case DType::kF64:
      return "#define AK_DTYPE_F64 1\ntypedef double scalar_t;\n";
    case DType::kI32:
      return "#define AK_DTYPE_I32 1\ntypedef int scalar_t;\n";
    case DType::kI64:
      return "#define AK_DTYPE_I64 1\ntypedef long long scalar_t;\n";
  }
  AK_CHECK(false);
  return "";
}

/// A file name inside the quotes of `#line`.
std::string quoted(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += std::iscntrl(static_cast<unsigned char>(c)) != 0 ? '?' : c;
  }
  return text.empty() ? "kernel.cu" : text;
}

}  // namespace

Result<std::string> source_prefix(const Source& source) {
  std::string text(scalar_lines(source.dtype));
  for (const auto& [name, value] : source.flags) {
    AK_TRY_VOID(check_macro_name("flag", name));
    text += fmt::format("#define {} {}\n", name, literal(value));
  }
  for (const auto& [name, value] : source.tunables) {
    AK_TRY_VOID(check_macro_name("tunable", name));
    if (source.flags.contains(name)) return usage_error("tunable `{}` has the name of a flag", name);
    AK_TRY(written, macro_value(name, value));
    text += fmt::format("#define {} {}\n", name, written);
  }
  for (const auto& [name, value] : source.specialised) {
    if (!is_identifier(name)) return usage_error("dim `{}` is not a C++ identifier", name);
    const bool is_int = value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
    text += fmt::format("constexpr {} k{} = {};\n", is_int ? "int" : "long long", name, literal(value));
  }
  text += fmt::format("#line 1 \"{}\"\n", quoted(source.name));
  return text;
}

Result<std::string> source_text(const Source& source) {
  AK_TRY(text, source_prefix(source));
  text += source.text;
  return text;
}

}  // namespace ak::device
