#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "autokernel/kernel/expr_places.h"
#include "autokernel/kernel/kernel_file_parser.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

constexpr std::size_t kMaxLaunches = 64;
constexpr std::size_t kMaxBoxRank = 5;  // of cuTensorMapEncodeTiled

/// Names that follow `__global__ ... void` in the code.
std::vector<std::string> kernels_of(std::string_view code) {
  std::vector<std::string> names;
  for (std::size_t at = code.find("__global__"); at != std::string_view::npos;
       at = code.find("__global__", at + 1)) {
    // The name is the last word before the first parenthesis that is not __launch_bounds__'s.
    std::size_t open = code.find('(', at);
    if (open == std::string_view::npos) break;
    if (const std::size_t bounds = code.find("__launch_bounds__", at); bounds < open) {
      open = code.find('(', std::min(code.find(')', open), code.size()));
      if (open == std::string_view::npos) break;
    }
    std::size_t end = open;
    while (end > at && (code[end - 1] == ' ' || code[end - 1] == '\n')) --end;
    std::size_t begin = end;
    while (begin > at && is_identifier_part(code[begin - 1])) --begin;
    if (begin < end) names.emplace_back(code.substr(begin, end - begin));
  }
  return names;
}

Result<std::vector<std::string>> read_args(const TableReader& table) {
  std::vector<std::string> args;
  const Json* value = table.find("args");
  const std::string at = child(table.pointer(), "args");
  if (value == nullptr)
    return table.missing("args", "the kernel's arguments in order: args = [\"x\", \"y\", \"N\"]");
  if (!value->is_array()) return table.wrong_type(at, "a list", "args = [\"x\", \"y\", \"N\"]");
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& item = (*value)[i];
    if (item.is_number_integer()) {
      args.push_back(item.dump());
    } else if (item.is_string() && !item.get_ref<const std::string&>().empty()) {
      args.push_back(item.get<std::string>());
    } else {
      return table.wrong_type(child(at, i),
                              "a tensor, dim, flag, scalar, workspace, tensor map or expression");
    }
  }
  return args;
}

Result<std::vector<Expr>> read_sizes(const TableReader& table, std::string_view key,
                                     std::string_view example) {
  if (!table.has(key)) return table.missing(key, fmt::format("add {} = {}", key, example));
  AK_TRY(sizes, table.exprs(key));
  if (sizes.empty() || sizes.size() > 3) {
    return table.wrong_type(child(table.pointer(), key), "1 to 3 expressions",
                            fmt::format("x, y and z: {} = {}", key, example));
  }
  return sizes;
}

Result<LaunchSpec> read_launch(const FileText& file, const TableReader& table, std::string_view code) {
  AK_TRY_VOID(
      table.allow({"entry", "when", "grid", "block", "cluster", "shared_bytes", "cooperative", "args"}));
  LaunchSpec launch;
  AK_TRY(entry, table.string("entry"));
  if (!is_identifier(entry) || !mentions(code, entry)) {
    return file.document.error_at(child(table.pointer(), "entry"),
                                  fmt::format("the code has no kernel '{}'", entry),
                                  spelling_hint(entry, kernels_of(code)));
  }
  launch.entry = std::move(entry);
  AK_TRY(grid, read_sizes(table, "grid", "[\"ceil_div(N, THREADS)\"]"));
  AK_TRY(block, read_sizes(table, "block", "[\"THREADS\"]"));
  launch.grid = std::move(grid);
  launch.block = std::move(block);
  if (table.has("cluster")) {
    AK_TRY(cluster, read_sizes(table, "cluster", "[2]"));
    launch.cluster = std::move(cluster);
  }
  AK_TRY(shared_bytes, table.optional_expr("shared_bytes"));
  AK_TRY(when, table.optional_expr("when"));
  AK_TRY(cooperative, table.bool_or("cooperative", false));
  AK_TRY(args, read_args(table));
  launch.shared_bytes = std::move(shared_bytes);
  launch.when = std::move(when);
  launch.cooperative = cooperative;
  launch.args = std::move(args);
  return launch;
}

Result<std::string> read_name(const TableReader& table) {
  AK_TRY(name, table.string("name"));
  if (!is_identifier(name))
    return table.wrong_type(child(table.pointer(), "name"), "a name", "e.g. name = \"partial\"");
  return name;
}

Result<WorkspaceSpec> read_workspace(const TableReader& table) {
  AK_TRY_VOID(table.allow({"name", "bytes", "zeroed"}));
  AK_TRY(name, read_name(table));
  AK_TRY(bytes, table.expr("bytes"));
  AK_TRY(zeroed, table.bool_or("zeroed", false));
  return WorkspaceSpec{std::move(name), std::move(bytes), zeroed};
}

Result<TensorMapSpec> read_tensor_map(const TableReader& table) {
  AK_TRY_VOID(table.allow({"name", "tensor", "box", "swizzle"}));
  AK_TRY(name, read_name(table));
  AK_TRY(tensor, table.string("tensor"));
  AK_TRY(box, table.exprs("box"));
  if (box.empty() || box.size() > kMaxBoxRank) {
    return table.wrong_type(table.has("box") ? child(table.pointer(), "box") : table.pointer(),
                            "a box of 1 to 5 sizes, innermost last", "box = [\"TILE_M\", \"TILE_K\"]");
  }
  AK_TRY(swizzle, table.int_or("swizzle", 0));
  constexpr std::array<std::int64_t, 4> kSwizzles = {0, 32, 64, 128};
  if (std::find(kSwizzles.begin(), kSwizzles.end(), swizzle) == kSwizzles.end()) {
    return table.wrong_type(child(table.pointer(), "swizzle"), "a swizzle of 0, 32, 64 or 128 bytes");
  }
  return TensorMapSpec{std::move(name), std::move(tensor), std::move(box), static_cast<int>(swizzle)};
}

Status check_distinct_names(const FileText& file, const KernelFile& out) {
  std::set<std::string> taken;
  for (const Tunable& tunable : out.tunables) taken.insert(tunable.name);
  const auto claim = [&](const std::string& name, const std::string& at) -> Status {
    if (taken.insert(name).second) return {};
    return file.document.error_at(at, fmt::format("the name '{}' is taken", name), "choose another");
  };
  for (std::size_t i = 0; i < out.workspaces.size(); ++i) {
    AK_TRY_VOID(claim(out.workspaces[i].name, child("/workspace", i) + "/name"));
  }
  for (std::size_t i = 0; i < out.tensor_maps.size(); ++i) {
    AK_TRY_VOID(claim(out.tensor_maps[i].name, child("/tensormap", i) + "/name"));
  }
  return {};
}

/// A tunable of a template that changes nothing: its placeholder is misspelled.
Status check_placeholders(const FileText& file, std::string_view code, const KernelFile& out) {
  if (!out.is_template) return {};
  std::set<std::string> used;
  for (const ExprPlace& place : all_exprs(out))
    used.insert(place.expr->names().begin(), place.expr->names().end());
  for (const Tunable& tunable : out.tunables) {
    const std::string placeholder = "{" + tunable.name + "}";
    if (code.find(placeholder) != std::string_view::npos || used.contains(tunable.name)) continue;
    return file.error_at_key(
        "/tunables", tunable.name, fmt::format("{} changes nothing", tunable.name),
        fmt::format("write {} where the code needs it, or remove the tunable", placeholder));
  }
  return {};
}

}  // namespace

Status read_launches(const FileText& file, std::string_view code, KernelFile& out) {
  AK_TRY(root, TableReader::create(file, ""));
  AK_TRY(launches, root.tables("launch"));
  if (launches.empty()) {
    return root.missing("launch",
                        "add [[launch]] with entry, grid, block and args: how the kernel is started");
  }
  if (launches.size() > kMaxLaunches) {
    return root.wrong_type("/launch", fmt::format("at most {} launches", kMaxLaunches));
  }
  for (const TableReader& table : launches) {
    AK_TRY(launch, read_launch(file, table, code));
    if (launch.when && out.launches.empty()) {
      return file.document.error_at(child(table.pointer(), "when"), "the first launch always runs",
                                    "put a launch without `when` before it");
    }
    out.launches.push_back(std::move(launch));
  }
  AK_TRY(workspaces, root.tables("workspace"));
  for (const TableReader& table : workspaces) {
    AK_TRY(workspace, read_workspace(table));
    out.workspaces.push_back(std::move(workspace));
  }
  AK_TRY(tensor_maps, root.tables("tensormap"));
  for (const TableReader& table : tensor_maps) {
    AK_TRY(tensor_map, read_tensor_map(table));
    out.tensor_maps.push_back(std::move(tensor_map));
  }
  return {};
}

Status check_names(const FileText& file, std::string_view code, const KernelFile& out) {
  AK_TRY_VOID(check_distinct_names(file, out));
  for (const ExprPlace& place : all_exprs(out)) {
    for (const std::string& name : place.expr->names()) {
      const Tunable* tunable = find_tunable(out, name);
      if (tunable == nullptr || as_int(tunable->values[0])) continue;
      return error_at_name(out, place, name,
                           fmt::format("{} is a string tunable and has no place in an expression", name),
                           "expressions are over integers; add an integer or boolean tunable for this");
    }
  }
  return check_placeholders(file, code, out);
}

}  // namespace ak::kernel
