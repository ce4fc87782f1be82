#include "autokernel/kernel/kernel_file_parser.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/hash.h"
#include "autokernel/kernel/spelling.h"

namespace ak::kernel {
namespace {

Status read_dtypes(const FileText& file, const TableReader& root, KernelFile& out) {
  static constexpr DType kTensorTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
  std::vector<std::string> known;
  for (const DType dtype : kTensorTypes) known.emplace_back(name(dtype));
  if (!root.has("dtypes"))
    return root.missing("dtypes", "the dtypes that the code is written for: dtypes = [\"f32\"]");
  AK_TRY(names, root.strings("dtypes"));
  if (names.empty()) return root.wrong_type("/dtypes", "at least one dtype", spelling_hint("", known));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(known.begin(), known.end(), names[i]) == known.end()) {
      return file.document.error_at(child("/dtypes", i), fmt::format("unknown dtype '{}'", names[i]),
                                    spelling_hint(names[i], known));
    }
    const DType dtype = *dtype_from_name(names[i]);
    if (out.supports(dtype)) {
      return file.document.error_at(child("/dtypes", i), fmt::format("'{}' is listed twice", names[i]),
                                    "remove one");
    }
    out.dtypes.push_back(dtype);
  }
  return {};
}

Status read_constraints(const FileText& file, const TableReader& root, KernelFile& out) {
  if (!root.has("constraints")) return {};
  AK_TRY(table, TableReader::create(file, "/constraints"));
  AK_TRY_VOID(table.allow({"where", "needs"}));
  AK_TRY(where, table.exprs("where"));
  AK_TRY(needs, table.exprs("needs"));
  out.where = std::move(where);
  out.needs = std::move(needs);
  return {};
}

/// Lists of names: `specialize` and `arch`.
Status read_name_lists(const FileText& file, const TableReader& root, KernelFile& out) {
  AK_TRY(specialize, root.strings("specialize"));
  for (std::size_t i = 0; i < specialize.size(); ++i) {
    if (is_identifier(specialize[i])) continue;
    return file.document.error_at(child("/specialize", i),
                                  fmt::format("'{}' is no dim's name", specialize[i]),
                                  "e.g. specialize = [\"N\"]");
  }
  AK_TRY(arch, root.strings("arch"));
  for (std::size_t i = 0; i < arch.size(); ++i) {
    if (is_identifier(arch[i])) continue;
    return file.document.error_at(child("/arch", i), fmt::format("'{}' is no architecture", arch[i]),
                                  "e.g. arch = [\"sm_90a\"]");
  }
  if (root.has("arch") && arch.empty())
    return root.wrong_type("/arch", "at least one architecture", "or no 'arch'");
  out.specialize = std::move(specialize);
  out.arch = std::move(arch);
  return {};
}

Status read_root(const FileText& file, std::string_view code, KernelFile& out) {
  AK_TRY(root, TableReader::create(file, ""));
  AK_TRY_VOID(root.allow({"op", "about", "dtypes", "tunables", "constraints", "defaults", "launch",
                          "workspace", "tensormap", "specialize", "arch", "max_registers", "template"}));
  AK_TRY(op, root.string_or("op", ""));
  if (root.has("op") && !is_identifier(op)) {
    return root.wrong_type("/op", "the name of an op family",
                           "e.g. op = \"softmax\"; 'autokernel ops' lists them");
  }
  AK_TRY(about, root.string_or("about", ""));
  AK_TRY(is_template, root.bool_or("template", false));
  AK_TRY(max_registers, root.optional_expr("max_registers"));
  out.op = std::move(op);
  out.about = std::move(about);
  out.is_template = is_template;
  out.max_registers = std::move(max_registers);
  AK_TRY_VOID(read_dtypes(file, root, out));
  AK_TRY_VOID(read_name_lists(file, root, out));
  AK_TRY_VOID(read_tunables(file, out));
  AK_TRY_VOID(read_constraints(file, root, out));
  AK_TRY_VOID(read_launches(file, code, out));
  return check_names(file, code, out);
}

}  // namespace

Result<KernelFile> parse(std::string_view text, std::string name) {
  constexpr std::string_view kByteOrderMark =
      "\xef\xbb\xbf";  // some editors write one; g++ would not skip it
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  AK_TRY_VOID(check_text(text, name));
  AK_TRY(found, find_front_matter(text, name));
  const std::string_view toml = text.substr(found.toml_begin, found.toml_end - found.toml_begin);
  AK_TRY(document, parse_toml(toml, {.name = name, .first_line = found.first_line}));
  KernelFile file;
  file.name = std::move(name);
  file.text = text;
  file.hash = content_hash(text);
  file.front_matter = document;
  // Code before the comment counts as well: an include guard, a licence, a forward declaration.
  const std::string code =
      std::string(text.substr(0, found.comment_begin)) + "\n" + std::string(text.substr(found.comment_end));
  AK_TRY_VOID(read_root({file.front_matter, file.text, file.name}, code, file));
  return file;
}

}  // namespace ak::kernel
