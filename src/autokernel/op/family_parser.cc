#include "autokernel/op/family_parser.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ak::op {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::size_t kMaxTensors = 32;
constexpr std::size_t kMaxRank = 8;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_upper_name(std::string_view name) {
  return !name.empty() && is_upper(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

bool is_lower_name(std::string_view name) {
  return !name.empty() && is_lower(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

std::optional<TensorRole> role_from_name(std::string_view name) {
  if (name == "in") return TensorRole::kIn;
  if (name == "out") return TensorRole::kOut;
  if (name == "inout") return TensorRole::kInOut;
  return std::nullopt;
}

}  // namespace

FamilyParser::FamilyParser(TomlDocument document, std::string_view name) : root_(family_.document, "") {
  family_.document = std::move(document);
  family_.name = name;
}

Result<Family> FamilyParser::parse() {
  using Section = Status (FamilyParser::*)();
  constexpr Section kSections[] = {
      &FamilyParser::read_header,  &FamilyParser::read_dims,    &FamilyParser::read_flags,
      &FamilyParser::read_scalars, &FamilyParser::read_tensors, &FamilyParser::read_derived,
      &FamilyParser::read_where,   &FamilyParser::read_cost,    &FamilyParser::read_tolerance,
      &FamilyParser::read_sizes,   &FamilyParser::read_draws,   &FamilyParser::read_probes,
  };
  for (Section section : kSections) AK_TRY_VOID((this->*section)());
  AK_TRY_VOID(read_matches());
  return std::move(family_);
}

Status FamilyParser::read_header() {
  AK_TRY_VOID(
      root_.allow_keys({"schema", "name", "about", "dtypes", "dims", "defaults", "derived", "flag", "scalars",
                        "tensor", "where", "cost", "tolerance", "sizes", "draw", "probe", "match"}));
  AK_TRY(schema, root_.integer("schema"));
  if (schema != kSchema) {
    return root_.error("schema", fmt::format("schema {} is not known", schema),
                       "this version reads schema = 1");
  }
  AK_TRY(name, root_.string("name"));
  if (name != family_.name) {
    return root_.error("name", fmt::format("the name `{}` is not the folder's, `{}`", name, family_.name));
  }
  if (!is_lower_name(name))
    return root_.error("name", "a family's name is made of lower-case letters, digits and _");
  AK_TRY(about, root_.string("about"));
  family_.about = std::move(about);
  AK_TRY(dtypes, root_.strings("dtypes"));
  for (const std::string& text : dtypes) {
    const std::optional<DType> dtype = dtype_from_name(text);
    if (!dtype || (*dtype != DType::kF32 && *dtype != DType::kF16 && *dtype != DType::kBF16)) {
      return root_.error("dtypes", fmt::format("unknown dtype `{}`", text), "known: f32, f16, bf16");
    }
    if (std::find(family_.dtypes.begin(), family_.dtypes.end(), *dtype) != family_.dtypes.end()) {
      return root_.error("dtypes", fmt::format("dtype {} is listed twice", text));
    }
    family_.dtypes.push_back(*dtype);
  }
  if (family_.dtypes.empty()) return root_.error("dtypes", "at least one dtype is needed");
  expr_names_.insert("elem_bytes");
  return {};
}

Status FamilyParser::take_name(const std::string& name, NameForm form, const TomlTable& table,
                               std::string_view key) {
  if (form == NameForm::kTensor ? !is_lower_name(name) : !is_upper_name(name)) {
    return table.error(
        key, fmt::format("`{}` is no name for this", name),
        form == NameForm::kTensor ? "lower-case letters, digits and _" : "upper-case letters, digits and _");
  }
  if (form == NameForm::kMacro && name.size() < 2) {
    return table.error(key, fmt::format("`{}` becomes a macro, so it needs two letters or more", name));
  }
  if (name.starts_with("HAS_"))
    return table.error(key, "names that begin with HAS_ are those of optional tensors");
  if (name == "elem_bytes" || name == "has" || !names_.insert(name).second) {
    return table.error(key, fmt::format("the name `{}` is taken", name));
  }
  return {};
}

Status FamilyParser::check_expr(const std::string& pointer, const Expr& expr,
                                const std::vector<std::string>& more) const {
  std::vector<std::string> known(expr_names_.begin(), expr_names_.end());
  known.insert(known.end(), more.begin(), more.end());
  return check_names(
      family_.document, pointer, expr,
      [&](std::string_view name) { return std::find(known.begin(), known.end(), name) != known.end(); },
      "known here: " + joined(known));
}

Status FamilyParser::read_dims() {
  AK_TRY(dims, root_.strings("dims"));
  if (dims.empty()) return root_.error("dims", "at least one dim is needed");
  for (const std::string& dim : dims) {
    AK_TRY_VOID(take_name(dim, NameForm::kDim, root_, "dims"));
    expr_names_.insert(dim);
  }
  family_.dims = std::move(dims);
  if (!root_.has("defaults")) return {};
  AK_TRY(defaults, root_.table("defaults"));
  for (const std::string& dim : defaults.keys()) {
    if (std::find(family_.dims.begin(), family_.dims.end(), dim) == family_.dims.end()) {
      return defaults.error(dim, fmt::format("`{}` is no dim", dim), "dims: " + joined(family_.dims));
    }
    AK_TRY(value, defaults.integer(dim));
    if (value < 1) return defaults.error(dim, "a dim is at least 1");
    family_.dim_defaults[dim] = value;
  }
  return {};
}

Status FamilyParser::read_flags() {
  AK_TRY(tables, root_.tables("flag"));
  for (const TomlTable& table : tables) {
    AK_TRY_VOID(table.allow_keys({"name", "values", "range"}));
    FlagSpec flag;
    AK_TRY(name, table.string("name"));
    AK_TRY_VOID(take_name(name, NameForm::kMacro, table, "name"));
    expr_names_.insert(name);
    flag.name = std::move(name);
    AK_TRY(values, table.integers("values"));
    if (values.empty())
      return table.error("values", "at least one value is needed; the first is the default");
    flag.values = std::move(values);
    if (table.has("range")) {
      AK_TRY(range, table.integers("range"));
      if (range.size() != 2 || range[0] > range[1]) return table.error("range", "expected [lowest, highest]");
      flag.range = {range[0], range[1]};
    }
    for (std::int64_t value : flag.values) {
      const bool fits = !flag.range || (value >= flag.range->first && value <= flag.range->second);
      if (!fits || value < INT32_MIN || value > INT32_MAX) {
        return table.error("values", fmt::format("{} is out of range", value));
      }
    }
    family_.flags.push_back(std::move(flag));
  }
  return {};
}

Status FamilyParser::read_default(const TomlTable& table, ScalarSpec& scalar) {
  if (!table.has("default_rsqrt")) {
    AK_TRY(value, table.number("default"));
    scalar.default_value = value;
    return {};
  }
  if (table.has("default")) return table.error("default", "expected `default` or `default_rsqrt`, not both");
  if (scalar.type == ScalarSpec::Type::kInt)
    return table.error("default_rsqrt", "only a float scalar has such a default");
  AK_TRY(expr, table.expression("default_rsqrt"));
  AK_TRY_VOID(check_expr(table.pointer("default_rsqrt"), expr));
  scalar.default_rsqrt = std::move(expr);
  return {};
}

Status FamilyParser::read_scalars() {
  if (!root_.has("scalars")) return {};
  AK_TRY(scalars, root_.table("scalars"));
  for (const std::string& name : scalars.keys()) {
    AK_TRY(table, scalars.table(name));
    AK_TRY_VOID(table.allow_keys({"type", "default", "default_rsqrt", "test"}));
    ScalarSpec scalar;
    scalar.name = name;
    if (is_upper_name(name) ? !names_.insert(name).second
                            : !is_lower_name(name) || !names_.insert(name).second) {
      return scalars.error(name, fmt::format("`{}` is taken, or no name", name));
    }
    if (table.has("type")) {
      AK_TRY(type, table.string("type"));
      if (type != "float" && type != "int") return table.error("type", "expected \"float\" or \"int\"");
      if (type == "int") scalar.type = ScalarSpec::Type::kInt;
    }
    AK_TRY_VOID(read_default(table, scalar));
    if (table.has("test")) {
      AK_TRY(values, table.numbers("test"));
      scalar.test_values = std::move(values);
    }
    std::vector<double> all = scalar.test_values;
    all.push_back(scalar.default_value);
    for (double each : all) {
      const bool whole = std::nearbyint(each) == each && std::fabs(each) <= 2147483647.0;
      if (scalar.type == ScalarSpec::Type::kInt && !whole) {
        return scalars.error(name, fmt::format("{} is no 32-bit integer", each));
      }
    }
    family_.scalars.push_back(std::move(scalar));
  }
  return {};
}

Status FamilyParser::read_tensor(const TomlTable& table) {
  AK_TRY_VOID(table.allow_keys(
      {"name", "role", "shape", "dtype", "optional", "with", "alignment", "strided", "about"}));
  TensorSpec tensor;
  AK_TRY(name, table.string("name"));
  AK_TRY_VOID(take_name(name, NameForm::kTensor, table, "name"));
  tensor.name = std::move(name);
  AK_TRY(role_text, table.string("role"));
  const std::optional<TensorRole> role = role_from_name(role_text);
  if (!role) return table.error("role", fmt::format("unknown role `{}`", role_text), "known: in, out, inout");
  tensor.role = *role;
  AK_TRY(shape, table.expressions("shape"));
  if (shape.empty() || shape.size() > kMaxRank) {
    return table.error("shape", fmt::format("a tensor has 1 to {} dims", kMaxRank), "a single number is [1]");
  }
  tensor.shape = std::move(shape);
  if (table.has("dtype")) {
    AK_TRY(text, table.string("dtype"));
    tensor.dtype = dtype_from_name(text);
    if (!tensor.dtype || *tensor.dtype == DType::kF64) {
      return table.error("dtype", fmt::format("unknown dtype `{}`", text), "known: f32, f16, bf16, i32, i64");
    }
  }
  if (table.has("optional")) {
    AK_TRY(optional, table.boolean("optional"));
    tensor.optional = optional;
  }
  if (tensor.optional) expr_names_.insert(presence_macro(tensor.name));
  if (table.has("with")) {
    AK_TRY(with, table.string("with"));
    tensor.with = std::move(with);
  }
  if (table.has("alignment")) {
    AK_TRY(alignment, table.integer("alignment"));
    if (alignment < 1 || alignment > 256 || (alignment & (alignment - 1)) != 0) {
      return table.error("alignment", "expected a power of two up to 256, in bytes");
    }
    tensor.alignment = static_cast<std::uint32_t>(alignment);
  }
  if (table.has("strided")) {
    AK_TRY(strided, table.boolean("strided"));
    if (strided) return table.error("strided", "not supported yet: tensors are contiguous");
  }
  family_.tensors.push_back(std::move(tensor));
  return {};
}

Status FamilyParser::read_tensors() {
  AK_TRY(tables, root_.tables("tensor"));
  if (tables.size() > kMaxTensors)
    return root_.error("tensor", fmt::format("more than {} tensors", kMaxTensors));
  for (const TomlTable& table : tables) AK_TRY_VOID(read_tensor(table));
  return check_tensors();
}

Status FamilyParser::check_tensors() const {
  bool has_output = false;
  for (std::size_t i = 0; i < family_.tensors.size(); ++i) {
    const TensorSpec& tensor = family_.tensors[i];
    const TomlTable table(family_.document, fmt::format("/tensor/{}", i));
    has_output = has_output || (tensor.role != TensorRole::kIn && tensor.with.empty());
    if (tensor.optional && tensor.role != TensorRole::kIn) {
      return table.error("optional", "only inputs are optional",
                         "an output that comes with an input: with = \"NAME\"");
    }
    if (tensor.with.empty()) continue;
    const TensorSpec* with = family_.tensor(tensor.with);
    if (with == nullptr || !with->optional || tensor.role != TensorRole::kOut) {
      return table.error("with", fmt::format("`{}` is no optional input, or this is no output", tensor.with));
    }
  }
  if (!has_output) return root_.error("tensor", "a family needs an output that is always there");
  return {};
}

Status FamilyParser::read_derived() {
  if (root_.has("derived")) {
    AK_TRY(derived, root_.table("derived"));
    for (const std::string& name : derived.keys()) {
      AK_TRY_VOID(take_name(name, NameForm::kDim, derived, name));
      AK_TRY(expr, derived.expression(name));
      AK_TRY_VOID(check_expr(derived.pointer(name), expr));
      expr_names_.insert(name);
      family_.derived.emplace_back(name, std::move(expr));
    }
  }
  for (std::size_t i = 0; i < family_.tensors.size(); ++i) {
    for (std::size_t k = 0; k < family_.tensors[i].shape.size(); ++k) {
      AK_TRY_VOID(check_expr(fmt::format("/tensor/{}/shape/{}", i, k), family_.tensors[i].shape[k]));
    }
  }
  return {};
}

Status FamilyParser::read_where() {
  if (!root_.has("where")) return {};
  AK_TRY(where, root_.expressions("where"));
  for (std::size_t i = 0; i < where.size(); ++i) {
    AK_TRY_VOID(check_expr(fmt::format("/where/{}", i), where[i]));
  }
  family_.where = std::move(where);
  return {};
}

}  // namespace ak::op
