#include "autokernel/device/cpu/translation_unit.h"

#include <fmt/core.h>

#include <algorithm>

#include "autokernel/device/source_text.h"

namespace ak::cpu {
namespace {

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool is_entry_name(std::string_view name) {
  const std::string_view function = function_name(name);
  return is_identifier(function) && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                  c == ':' || c == '<' || c == '>' || c == ',' || c == ' ';
         });
}

Result<std::string> module_table(const Source& source) {
  std::string out;
  std::string rows;
  for (std::size_t i = 0; i < source.entries.size(); ++i) {
    const std::string& entry = source.entries[i];
    if (!is_entry_name(entry)) return usage_error("`{}` cannot be the name of a kernel", entry);
    out += fmt::format(
        "#line 1 \"{0}{1}\"\n"
        "using AkSignature{1} = ::ak_prelude::Signature<decltype(&::{2})>;\n"
        "extern \"C\" {{ extern AK_KEEP const AkSignature{1}::Table ak_entry_{1}; "
        "const AkSignature{1}::Table ak_entry_{1} = AkSignature{1}::kTable; }}\n",
        kEntryFile, i, entry);
    rows += fmt::format(
        "\n#line 1 \"{0}{1}\"\n"
        "{{\"{2}\", AkSignature{1}::kCount, ak_entry_{1}.words + 1, &AkSignature{1}::thread<&::{2}>, "
        "&AkSignature{1}::block<&::{2}>}},",
        kEntryFile, i, entry);
  }
  out += fmt::format(
      "#line 1 \"ak-module\"\n"
      "static const AkEntry ak_entries[] = {{{}\n#line 2 \"ak-module\"\n{{}}}};\n"
      "extern \"C\" {{ extern AK_EXPORT const AkModule ak_module; const AkModule ak_module = {{AK_CPU_ABI, "
      "{}, ak_entries, "
      "&::ak_prelude::builtins, &::ak_prelude::shared_range}}; }}\n",
      rows, source.entries.size());
  return out;
}

}  // namespace

std::string display_name(const Source& source) {
  std::string name = source.name.empty() ? "kernel.cu" : source.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  return name;
}

std::string_view function_name(std::string_view entry) {
  entry = entry.substr(0, entry.find('<'));
  const std::size_t scope = entry.rfind("::");
  return scope == std::string_view::npos ? entry : entry.substr(scope + 2);
}

Result<std::string> translation_unit(const Source& source, std::string_view rewritten) {
  AK_TRY(prefix, device::source_prefix(source));
  AK_TRY(table, module_table(source));
  std::string unit = "#include \"ak_prelude.h\"\n" + prefix;
  unit += rewritten;
  unit += "\n" + table;
  return unit;
}

}  // namespace ak::cpu
