// The form of [[match]] tables. What they mean is for those who read traces and graphs.
#include <algorithm>

#include "autokernel/op/family_parser.h"

namespace ak::op {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Status FamilyParser::check_match(const TomlTable& table) const {
  AK_TRY_VOID(
      table.allow_keys({"aten", "args", "sequence", "casts", "tensors", "dims", "flags", "scalars",
                        "transposed", "channels_last", "require", "absent", "halves", "flatten", "results"}));
  if (table.has("aten") == table.has("sequence")) {
    return table.error("aten", "expected either `aten` with `args`, or `sequence`");
  }
  if (table.has("aten")) {
    AK_TRY(aten, table.string("aten"));
    if (aten.find("::") == std::string::npos)
      return table.error("aten", "expected a name such as \"aten::softmax\"");
    AK_TRY(args, table.strings("args"));
    AK_TRY(tensors, table.table("tensors"));
    for (const std::string& key : tensors.keys()) {
      if (family_.tensor(key) == nullptr) return tensors.error(key, fmt::format("`{}` is no tensor", key));
      AK_TRY(arg, tensors.string(key));
      if (!contains(args, arg)) return tensors.error(key, fmt::format("`{}` is not among `args`", arg));
    }
    if (table.has("absent")) AK_TRY_VOID(check_listed(table, "absent", args, "argument"));
    AK_TRY_VOID(check_listed(table, "results", tensor_names(TensorRole::kOut), "output"));
  } else {
    AK_TRY(steps, table.strings("sequence"));
    if (steps.empty()) return table.error("sequence", "at least one step is needed");
  }
  if (table.has("absent") && !table.has("aten")) {
    return table.error("absent", "only arguments of `aten` can be absent", "in a sequence: none");
  }
  if (table.has("halves")) AK_TRY_VOID(check_listed(table, "halves", tensor_names(TensorRole::kIn), "input"));
  if (table.has("flatten")) AK_TRY_VOID(check_listed(table, "flatten", tensor_names(std::nullopt), "tensor"));
  for (std::string_view key : {"flags", "transposed"}) {
    if (!table.has(key)) continue;
    AK_TRY(flags, table.table(key));
    for (const std::string& name : flags.keys()) {
      if (family_.flag(name) == nullptr) return flags.error(name, fmt::format("`{}` is no flag", name));
    }
  }
  if (table.has("dims")) {
    AK_TRY(dims, table.table("dims"));
    for (const std::string& name : dims.keys()) {
      if (!contains(family_.dims, name)) return dims.error(name, fmt::format("`{}` is no dim", name));
    }
  }
  return {};
}

Status FamilyParser::check_matches() const {
  AK_TRY(tables, root_.tables("match"));
  for (const TomlTable& table : tables) AK_TRY_VOID(check_match(table));
  return {};
}

}  // namespace ak::op
