// How a family is judged: [cost], [tolerance], [sizes], [[draw]] and [[probe]].
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "autokernel/op/family_parser.h"

namespace ak::op {
namespace {

struct Kind {
  std::string_view name;
  std::vector<std::string_view> params;
};

/// The closed set of distributions and their parameters (docs/reference/op-family.md#distributions).
const std::vector<Kind>& distribution_kinds() {
  static const std::vector<Kind> kKinds = {
      {"normal", {"mean", "stddev"}},  {"offset", {"mean", "stddev"}},
      {"uniform", {"low", "high"}},    {"heavy_tail", {"tail", "stddev"}},
      {"row_scales", {"low", "high"}}, {"sparse", {"density", "stddev"}},
      {"spikes", {"height"}},          {"zeros", {}},
      {"constant", {"value"}},         {"integers", {"low", "high", "special", "special_share"}},
  };
  return kKinds;
}

const std::vector<Kind>& probe_kinds() {
  static const std::vector<Kind> kKinds = {
      {"spike", {"count", "height"}}, {"scale", {"factor"}}, {"permute_rows", {}}, {"zero_rows", {"share"}}};
  return kKinds;
}

const Kind* find_kind(const std::vector<Kind>& kinds, std::string_view name) {
  const auto it =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.name == name; });
  return it == kinds.end() ? nullptr : &*it;
}

std::string names_of_kinds(const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  return joined(names);
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::string_view kRequiredSets[] = {"smoke", "sweep", "edge", "primary"};
constexpr std::size_t kMaxRows = 1000;

}  // namespace

std::vector<std::string> FamilyParser::tensor_names(std::optional<TensorRole> role) const {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : family_.tensors) {
    const bool matches = !role || tensor.role == *role || tensor.role == TensorRole::kInOut;
    if (matches) names.push_back(tensor.name);
  }
  return names;
}

Status FamilyParser::check_listed(const TomlTable& table, std::string_view key,
                                  const std::vector<std::string>& known, std::string_view what) const {
  AK_TRY(names, table.strings(key));
  for (const std::string& name : names) {
    if (!contains(known, name)) {
      return table.error(key, fmt::format("`{}` is no {}", name, what), "known: " + joined(known));
    }
  }
  return {};
}

Status FamilyParser::read_cost() {
  AK_TRY(cost, root_.table("cost"));
  AK_TRY_VOID(cost.allow_keys({"flops", "bytes", "count"}));
  std::vector<std::string> counted;
  if (cost.has("count")) {
    AK_TRY(counts, cost.table("count"));
    for (const std::string& name : counts.keys()) {
      AK_TRY_VOID(take_name(name, NameForm::kDim, counts, name));
      AK_TRY(table, counts.table(name));
      AK_TRY_VOID(read_count(name, table));
      counted.push_back(name);
    }
  }
  AK_TRY(flops, cost.expression("flops"));
  AK_TRY_VOID(check_expr("/cost/flops", flops, counted));
  AK_TRY(bytes, cost.expression("bytes"));
  AK_TRY_VOID(check_expr("/cost/bytes", bytes, counted));
  family_.flops = std::move(flops);
  family_.bytes = std::move(bytes);
  return {};
}

Status FamilyParser::read_count(const std::string& name, const TomlTable& table) {
  AK_TRY_VOID(table.allow_keys({"over", "where", "distinct", "sum"}));
  CostCount count;
  count.name = name;
  AK_TRY(over, table.table("over"));
  std::vector<std::string> indices;
  for (const std::string& index : over.keys()) {
    if (names_.contains(index) || expr_names_.contains(index)) {
      return over.error(index, fmt::format("the name `{}` is taken", index));
    }
    AK_TRY(bound, over.expression(index));
    AK_TRY_VOID(check_expr(over.pointer(index), bound));
    indices.push_back(index);
    count.over.emplace_back(index, std::move(bound));
  }
  if (indices.empty() || indices.size() > 3) return table.error("over", "expected one to three indices");
  if (table.has("distinct") && table.has("sum"))
    return table.error("sum", "`distinct` and `sum` exclude each other");
  const auto read = [&](std::string_view key, std::optional<Expr>& out) -> Status {
    if (!table.has(key)) return {};
    AK_TRY(expr, table.expression(key));
    AK_TRY_VOID(check_expr(table.pointer(key), expr, indices));
    out = std::move(expr);
    return {};
  };
  AK_TRY_VOID(read("where", count.where));
  AK_TRY_VOID(read("distinct", count.distinct));
  AK_TRY_VOID(read("sum", count.sum));
  family_.counts.push_back(std::move(count));
  return {};
}

Status FamilyParser::read_tolerance() {
  AK_TRY(table, root_.table("tolerance"));
  AK_TRY_VOID(table.allow_keys({"c", "roundings", "row_elements"}));
  if (table.has("c")) {
    AK_TRY(c, table.number("c"));
    if (!(c > 0 && c <= 1000)) return table.error("c", "expected a number above 0, at most 1000");
    family_.tolerance.c = c;
  }
  AK_TRY(roundings, table.tables("roundings"));
  if (roundings.size() > 2) return table.error("roundings", "at most two intermediates may be rounded");
  for (const TomlTable& rounding : roundings) {
    AK_TRY_VOID(rounding.allow_keys({"about"}));
    AK_TRY(about, rounding.string("about"));
    family_.tolerance.roundings.push_back({std::move(about)});
  }
  AK_TRY(rows, table.table("row_elements"));
  const std::vector<std::string> outputs = tensor_names(TensorRole::kOut);
  for (const std::string& name : rows.keys()) {
    if (!contains(outputs, name)) {
      return rows.error(name, fmt::format("`{}` is no output", name), "outputs: " + joined(outputs));
    }
    AK_TRY(expr, rows.expression(name));
    AK_TRY_VOID(check_expr(rows.pointer(name), expr));
    family_.tolerance.row_elements.emplace(name, std::move(expr));
  }
  for (const std::string& name : outputs) {
    if (!family_.tolerance.row_elements.contains(name)) {
      return table.error("row_elements", fmt::format("the output `{}` is missing here", name));
    }
  }
  return {};
}

Result<Size> read_size(const Family& family, const TomlTable& table) {
  Size size;
  for (const std::string& key : table.keys()) {
    if (key == "has") {
      AK_TRY(has, table.strings("has"));
      size.has = std::move(has);
    } else if (family.flag(key) != nullptr) {
      AK_TRY(value, table.integer(key));
      size.flags[key] = value;
    } else if (family.scalar(key) != nullptr) {
      AK_TRY(value, table.number(key));
      size.scalars[key] = value;
    } else {
      AK_TRY(value, table.integer(key));  // make_problem knows the dims
      size.dims[key] = value;
    }
  }
  return size;
}

Status FamilyParser::read_sizes() {
  AK_TRY(sizes, root_.table("sizes"));
  for (const std::string& set : sizes.keys()) {
    if (set != "large" && !contains(kRequiredSets, set)) {
      return sizes.error(set, fmt::format("unknown size set `{}`", set),
                         "known: smoke, sweep, edge, primary, large");
    }
    AK_TRY(rows, sizes.tables(set));
    if (rows.size() > kMaxRows) return sizes.error(set, fmt::format("more than {} sizes", kMaxRows));
    for (const TomlTable& row : rows) {
      AK_TRY(size, read_size(family_, row));
      const Result<Problem> problem = make_problem(family_, size, family_.dtypes.front());
      if (!problem) return row.error("", problem.error().message);
      family_.sizes[set].push_back(std::move(size));
    }
  }
  for (std::string_view set : kRequiredSets) {
    const auto it = family_.sizes.find(std::string(set));
    if (it == family_.sizes.end() || it->second.empty()) {
      return sizes.error(set, fmt::format("the size set `{}` is missing or empty", set));
    }
  }
  return {};
}

Result<Distribution> FamilyParser::read_distribution(const TomlTable& table, const TensorSpec& tensor) const {
  Distribution distribution;
  AK_TRY(kind_name, table.string("kind"));
  const Kind* kind = find_kind(distribution_kinds(), kind_name);
  if (kind == nullptr) {
    return table.error("kind", fmt::format("unknown distribution `{}`", kind_name),
                       "known: " + names_of_kinds(distribution_kinds()));
  }
  const bool integer = tensor.dtype == DType::kI32 || tensor.dtype == DType::kI64;
  if (integer != (kind_name == "integers")) {
    return table.error("kind",
                       integer ? "an integer tensor takes `integers`" : "`integers` is for integer tensors");
  }
  for (const std::string& key : table.keys()) {
    if (key == "kind") continue;
    if (!contains(kind->params, key)) {
      return table.error(key, fmt::format("`{}` is no parameter of {}", key, kind_name));
    }
    if (table.json()[key].is_number()) {
      AK_TRY(value, table.number(key));
      distribution.params[key] = value;
    } else if (integer && key != "special_share") {
      AK_TRY(expr, table.expression(key));
      std::vector<std::string> scalars;
      for (const ScalarSpec& scalar : family_.scalars) {
        if (scalar.type == ScalarSpec::Type::kInt) scalars.push_back(scalar.name);
      }
      AK_TRY_VOID(check_expr(table.pointer(key), expr, scalars));
      distribution.exprs.emplace(key, std::move(expr));
    } else {
      return table.error(key, fmt::format("`{}`: expected a number", key));
    }
  }
  distribution.kind = std::move(kind_name);
  return distribution;
}

Result<Draw> FamilyParser::read_draw(const TomlTable& table) const {
  AK_TRY_VOID(table.allow_keys({"name", "stages", "zero_mean", "tensors"}));
  Draw draw;
  AK_TRY(name, table.string("name"));
  draw.name = std::move(name);
  AK_TRY(stages, table.strings("stages"));
  for (const std::string& text : stages) {
    const std::optional<Stage> stage = stage_from_name(text);
    if (!stage || *stage == Stage::kCompile || *stage == Stage::kAudit || *stage == Stage::kPlausibility) {
      return table.error(
          "stages", fmt::format("no draws are made in a stage `{}`", text),
          "known: smoke, shape_sweep, numerical_stability, determinism, edge_cases, integrity, time");
    }
    draw.stages.push_back(*stage);
  }
  if (stages.empty()) return table.error("stages", "at least one stage is needed");
  AK_TRY(zero_mean, table.boolean("zero_mean"));
  draw.zero_mean = zero_mean;
  AK_TRY(tensors, table.table("tensors"));
  for (const std::string& key : tensors.keys()) {
    const TensorSpec* tensor = family_.tensor(key);
    if (tensor == nullptr || tensor->role == TensorRole::kOut) {
      return tensors.error(key, fmt::format("`{}` is no input", key),
                           "inputs: " + joined(tensor_names(TensorRole::kIn)));
    }
    AK_TRY(entry, tensors.table(key));
    AK_TRY(distribution, read_distribution(entry, *tensor));
    draw.tensors.emplace(key, std::move(distribution));
  }
  for (const std::string& input : tensor_names(TensorRole::kIn)) {
    if (!draw.tensors.contains(input)) {
      return table.error("tensors", fmt::format("the input `{}` has no distribution here", input));
    }
  }
  return draw;
}

Status FamilyParser::read_draws() {
  AK_TRY(tables, root_.tables("draw"));
  std::vector<std::string> names;
  bool smoke = false;
  for (const TomlTable& table : tables) {
    AK_TRY(draw, read_draw(table));
    if (contains(names, draw.name))
      return table.error("name", fmt::format("two draws are called `{}`", draw.name));
    names.push_back(draw.name);
    smoke = smoke || std::find(draw.stages.begin(), draw.stages.end(), Stage::kSmoke) != draw.stages.end();
    family_.draws.push_back(std::move(draw));
  }
  if (!smoke) return root_.error("draw", "at least one [[draw]] for the stage smoke is needed");
  return {};
}

Result<Probe> FamilyParser::read_probe(const TomlTable& table) const {
  Probe probe;
  AK_TRY(kind_name, table.string("kind"));
  const Kind* kind = find_kind(probe_kinds(), kind_name);
  if (kind == nullptr) {
    return table.error("kind", fmt::format("unknown probe `{}`", kind_name),
                       "known: " + names_of_kinds(probe_kinds()));
  }
  const std::vector<std::string> inputs = tensor_names(TensorRole::kIn);
  AK_TRY(tensor, table.string("tensor"));
  if (!contains(inputs, tensor)) {
    return table.error("tensor", fmt::format("`{}` is no input", tensor), "inputs: " + joined(inputs));
  }
  for (const std::string& key : table.keys()) {
    if (key == "kind" || key == "tensor" || key == "also" || key == "outputs" || key == "where") continue;
    if (!contains(kind->params, key))
      return table.error(key, fmt::format("`{}` is no key of {}", key, kind_name));
    AK_TRY(value, table.number(key));
    probe.params[key] = value;
  }
  if (table.has("also")) {
    AK_TRY_VOID(check_listed(table, "also", inputs, "input"));
    AK_TRY(also, table.strings("also"));
    probe.also = std::move(also);
  }
  if (table.has("outputs")) {
    AK_TRY_VOID(check_listed(table, "outputs", tensor_names(TensorRole::kOut), "output"));
    AK_TRY(outputs, table.strings("outputs"));
    probe.outputs = std::move(outputs);
  }
  if (table.has("where")) {
    AK_TRY(where, table.expression("where"));
    AK_TRY_VOID(check_expr(table.pointer("where"), where));
    probe.where = std::move(where);
  }
  probe.kind = std::move(kind_name);
  probe.tensor = std::move(tensor);
  return probe;
}

Status FamilyParser::read_probes() {
  AK_TRY(tables, root_.tables("probe"));
  for (const TomlTable& table : tables) {
    AK_TRY(probe, read_probe(table));
    family_.probes.push_back(std::move(probe));
  }
  return {};
}

}  // namespace ak::op
