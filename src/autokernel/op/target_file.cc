#include "autokernel/op/target_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "autokernel/op/toml_table.h"

namespace ak::op {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::size_t kMaxProblems = 10'000;

/// The folder that the file lies in names the target; a bare file name does not.
std::string id_from(const std::string& name, const std::string& op) {
  const std::string folder = std::filesystem::path(name).parent_path().filename().string();
  return folder.empty() || folder == "." || folder == ".." ? op : folder;
}

Result<Size> read_problem_size(const Family& family, const TomlTable& table) {
  Size size;
  AK_TRY(dims, table.table("dims"));
  for (const std::string& key : dims.keys()) {
    AK_TRY(value, dims.integer(key));
    size.dims[key] = value;
  }
  if (table.has("flags")) {
    AK_TRY(flags, table.table("flags"));
    for (const std::string& key : flags.keys()) {
      AK_TRY(value, flags.integer(key));
      size.flags[key] = value;
    }
  }
  if (table.has("scalars")) {
    AK_TRY(scalars, table.table("scalars"));
    for (const std::string& key : scalars.keys()) {
      AK_TRY(value, scalars.number(key));
      size.scalars[key] = value;
    }
  }
  if (table.has("has")) {
    AK_TRY(has, table.strings("has"));
    size.has = std::move(has);
  }
  if (table.has("strides")) {
    AK_TRY(strides, table.table("strides"));
    for (const std::string& key : strides.keys()) {
      const TensorSpec* tensor = family.tensor(key);
      if (tensor == nullptr)
        return strides.error(key, fmt::format("{} has no tensor `{}`", family.name, key));
      return strides.error(key, fmt::format("not supported yet: `{}` must be contiguous", key));
    }
  }
  return size;
}

Result<TargetProblem> read_problem(const Family& family, const TomlTable& table, std::size_t index) {
  AK_TRY_VOID(table.allow_keys(
      {"id", "dims", "flags", "scalars", "dtype", "strides", "has", "calls", "sites", "role"}));
  TargetProblem result;
  result.id = fmt::format("p{}", index);
  if (table.has("id")) {
    AK_TRY(id, table.string("id"));
    if (id.empty()) return table.error("id", "an id is not empty");
    result.id = std::move(id);
  }
  AK_TRY(size, read_problem_size(family, table));
  AK_TRY(dtype_text, table.string("dtype"));
  const std::optional<DType> dtype = dtype_from_name(dtype_text);
  if (!dtype)
    return table.error("dtype", fmt::format("unknown dtype `{}`", dtype_text), "known: f32, f16, bf16");
  Result<Problem> problem = make_problem(family, size, *dtype);
  if (!problem) return table.error("", problem.error().message);
  result.problem = std::move(*problem);
  if (table.has("calls")) {
    AK_TRY(calls, table.number("calls"));
    if (!(calls > 0)) return table.error("calls", "expected a number above 0");
    result.calls = calls;
  }
  if (table.has("sites")) {
    AK_TRY(sites, table.strings("sites"));
    result.sites = std::move(sites);
  }
  if (table.has("role")) {
    AK_TRY(role, table.string("role"));
    if (role != "primary" && role != "sweep") return table.error("role", "expected \"primary\" or \"sweep\"");
    result.role = role == "primary" ? Role::kPrimary : Role::kSweep;
  }
  return result;
}

/// A TOML basic string.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04x}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + toml_string(text);
  return "[" + list + "]";
}

std::string number_text(double value) { return Json(value).dump(); }  // the shortest that reads back the same

template <class Map, class Print>
std::string inline_table(const Map& values, Print print) {
  std::string text;
  for (const auto& [key, value] : values)
    text += fmt::format("{} {} = {}", text.empty() ? "" : ",", key, print(value));
  return text.empty() ? "{}" : "{" + text + " }";
}

std::string format_problem(const TargetProblem& it) {
  const auto integer = [](std::int64_t value) { return std::to_string(value); };
  std::string text = "\n[[problem]]\n";
  text += fmt::format("id = {}\n", toml_string(it.id));
  text += fmt::format("dims = {}\n", inline_table(it.problem.dims, integer));
  text += fmt::format("flags = {}\n", inline_table(it.problem.flags, integer));
  text += fmt::format("scalars = {}\n", inline_table(it.problem.scalars, number_text));
  text += fmt::format("dtype = {}\n", toml_string(name(it.problem.dtype)));
  text += fmt::format("has = {}\n", toml_list(it.problem.has));
  text += fmt::format("calls = {}\n", number_text(it.calls));
  text += fmt::format("sites = {}\n", toml_list(it.sites));
  text += fmt::format("role = {}\n", toml_string(it.role == Role::kPrimary ? "primary" : "sweep"));
  return text;
}

}  // namespace

Result<Target> parse_target(std::string_view text, std::string name, const Registry& registry) {
  AK_TRY(document, parse_toml(text, {.name = name, .first_line = 1}));
  const TomlTable root(document, "");
  AK_TRY_VOID(root.allow_keys({"schema", "op", "problem"}));
  AK_TRY(schema, root.integer("schema"));
  if (schema != kSchema) {
    return root.error("schema", fmt::format("schema {} is not known", schema),
                      "this version reads schema = 1");
  }
  AK_TRY(op, root.string("op"));
  const Result<const Family*> family = registry.find(op);
  if (!family) return root.error("op", family.error().message);
  Target target;
  target.id = id_from(name, op);
  target.op = std::move(op);
  AK_TRY(tables, root.tables("problem"));
  if (tables.empty()) return root.error("problem", "a target needs at least one [[problem]]");
  if (tables.size() > kMaxProblems)
    return root.error("problem", fmt::format("more than {} problems", kMaxProblems));
  std::set<std::string> ids;
  bool primary = false;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    AK_TRY(problem, read_problem(**family, tables[i], i));
    if (!ids.insert(problem.id).second) {
      return tables[i].error("id", fmt::format("two problems are called `{}`", problem.id));
    }
    primary = primary || problem.role == Role::kPrimary;
    target.problems.push_back(std::move(problem));
  }
  if (!primary) return root.error("problem", "no problem is primary, so nothing would be timed");
  return target;
}

std::string format_target(const Target& target) {
  std::string text = "# What this folder's kernel file is judged on.\nschema = 1\n";
  text += fmt::format("op = {}\n", toml_string(target.op));
  for (const TargetProblem& problem : target.problems) text += format_problem(problem);
  return text;
}

Result<Target> default_target(const Family& family, const std::vector<DType>& dtypes, std::string_view set) {
  const auto sizes = family.sizes.find(std::string(set));
  if (sizes == family.sizes.end()) {
    std::vector<std::string> names;
    for (const auto& [each, rows] : family.sizes) names.push_back(each);
    return usage_error("{} has no size set `{}`: expected one of {}", family.name, set, joined(names));
  }
  if (dtypes.empty()) return usage_error("{}: no dtypes are given", family.name);
  Target target{.id = family.name, .op = family.name, .problems = {}};
  for (DType dtype : dtypes) {
    for (const Size& size : sizes->second) {
      AK_TRY(problem, make_problem(family, size, dtype));
      TargetProblem it;
      it.id = fmt::format("p{}", target.problems.size());
      it.problem = std::move(problem);
      target.problems.push_back(std::move(it));
    }
  }
  return target;
}

}  // namespace ak::op
