// [[match]] tables. What they mean is for those who read traces and graphs.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "autokernel/op/family_parser.h"

namespace ak::op {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string literal_text(const Json& value) {
  return value.is_string() ? fmt::format("'{}'", value.get<std::string>()) : value.dump();
}

/// The names that the steps' arguments and results give to what a table may refer to.
std::set<std::string> names_of_steps(const Match& match) {
  std::set<std::string> names;
  for (const MatchStep& step : match.steps) {
    names.insert(step.results.begin(), step.results.end());
    for (const MatchArgument& argument : step.arguments) {
      if (argument.kind == MatchArgument::Kind::kName) names.insert(argument.text);
      for (const MatchArgument& item : argument.items) names.insert(item.text);
    }
  }
  return names;
}

/// `"stride[0]"`, `"groups"` or a number.
Result<MatchValue> read_value(const TomlTable& table, const std::string& key,
                              const std::set<std::string>& names) {
  MatchValue value;
  if (!table.json().at(key).is_string()) {
    AK_TRY(constant, table.number(key));
    value.constant = constant;
    return value;
  }
  AK_TRY(text, table.string(key));
  const std::size_t bracket = text.find('[');
  value.argument = text.substr(0, bracket);
  if (bracket != std::string::npos) {
    const char* begin = text.data() + bracket + 1;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value.index);
    if (error != std::errc() || std::string_view(end, text.data() + text.size()) != "]" || value.index > 15)
      return table.error(key,
                         fmt::format("`{}`: expected an argument or an element such as stride[0]", text));
  }
  if (!names.contains(value.argument))
    return table.error(key, fmt::format("`{}` is no argument of this match", value.argument));
  return value;
}

}  // namespace

Status FamilyParser::read_match_steps(const TomlTable& table, Match& match) const {
  if (table.has("aten")) {
    AK_TRY(aten, table.string("aten"));
    if (aten.find("::") == std::string::npos)
      return table.error("aten", "expected a name such as \"aten::softmax\"");
    AK_TRY(args, table.strings("args"));
    MatchStep step;
    step.op = without_in_place(aten);
    for (std::string& arg : args) step.arguments.push_back({MatchArgument::Kind::kName, std::move(arg), {}});
    match.steps.push_back(std::move(step));
    return {};
  }
  AK_TRY(texts, table.strings("sequence"));
  if (texts.empty()) return table.error("sequence", "at least one step is needed");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Result<MatchStep> step = parse_step(texts[i]);
    if (!step)
      return family_.document.error_at(fmt::format("{}/{}", table.pointer("sequence"), i),
                                       step.error().message);
    match.steps.push_back(std::move(*step));
  }
  return {};
}

Status FamilyParser::read_match_tensors(const TomlTable& table, Match& match) const {
  const std::set<std::string> names = names_of_steps(match);
  if (table.has("tensors")) {
    AK_TRY(tensors, table.table("tensors"));
    for (const std::string& key : tensors.keys()) {
      if (family_.tensor(key) == nullptr) return tensors.error(key, fmt::format("`{}` is no tensor", key));
      AK_TRY(arg, tensors.string(key));
      if (!names.contains(arg)) return tensors.error(key, fmt::format("`{}` is not among `args`", arg));
      match.tensors[key] = arg;
    }
  } else if (table.has("aten")) {
    return table.error("tensors", "`tensors` is missing: expected { family tensor = argument }");
  } else {
    for (const TensorSpec& tensor : family_.tensors) {
      if (names.contains(tensor.name)) match.tensors[tensor.name] = tensor.name;
    }
    for (const ScalarSpec& scalar : family_.scalars) {
      if (names.contains(scalar.name)) match.scalars[scalar.name] = {.constant = {}, .argument = scalar.name};
    }
    for (const FlagSpec& flag : family_.flags) {
      if (names.contains(flag.name)) match.flags[flag.name] = {.constant = {}, .argument = flag.name};
    }
  }
  for (const TensorSpec& tensor : family_.tensors) {
    if (tensor.role != TensorRole::kOut && !tensor.optional && !match.tensors.contains(tensor.name))
      return table.error("", fmt::format("this match does not say what the tensor `{}` is", tensor.name));
  }
  const std::vector<std::string> all = tensor_names(std::nullopt), inputs = tensor_names(TensorRole::kIn);
  for (const auto& [key, list, known] :
       {std::tuple{"flatten", &match.flatten, &all}, std::tuple{"halves", &match.halves, &inputs},
        std::tuple{"has", &match.has, &inputs}}) {
    if (!table.has(key)) continue;
    AK_TRY_VOID(check_listed(table, key, *known, known == &all ? "tensor" : "input"));
    AK_TRY(listed, table.strings(key));
    *list = std::move(listed);
  }
  return {};
}

Status FamilyParser::read_match_values(const TomlTable& table, Match& match) const {
  const std::set<std::string> names = names_of_steps(match);
  const auto read = [&](const char* section, std::map<std::string, MatchValue>& values, const char* what,
                        auto known) -> Status {
    if (!table.has(section)) return {};
    AK_TRY(inner, table.table(section));
    for (const std::string& name : inner.keys()) {
      if (!known(name)) return inner.error(name, fmt::format("`{}` is no {}", name, what));
      AK_TRY(value, read_value(inner, name, names));
      values[name] = std::move(value);
    }
    return {};
  };
  const auto is_flag = [&](const std::string& name) { return family_.flag(name) != nullptr; };
  AK_TRY_VOID(read("flags", match.flags, "flag", is_flag));
  AK_TRY_VOID(
      read("dims", match.dims, "dim", [&](const std::string& name) { return contains(family_.dims, name); }));
  AK_TRY_VOID(read("scalars", match.scalars, "scalar",
                   [&](const std::string& name) { return family_.scalar(name) != nullptr; }));
  std::map<std::string, MatchValue> transposed;
  AK_TRY_VOID(read("transposed", transposed, "flag", is_flag));
  for (const auto& [flag, value] : transposed) match.transposed[flag] = value.argument;
  if (table.has("channels_last")) {
    AK_TRY(flag, table.string("channels_last"));
    if (!is_flag(flag)) return table.error("channels_last", fmt::format("`{}` is no flag", flag));
    match.channels_last = std::move(flag);
  }
  if (table.has("absent")) {
    AK_TRY_VOID(check_listed(table, "absent", {names.begin(), names.end()}, "argument"));
    AK_TRY(absent, table.strings("absent"));
    match.absent = std::move(absent);
  }
  if (!table.has("require")) return {};
  AK_TRY(require, table.table("require"));
  for (const std::string& name : require.keys()) {
    if (!names.contains(name))
      return require.error(name, fmt::format("`{}` is no argument of this match", name));
    match.require[name] = literal_text(require.json().at(name));
  }
  return {};
}

Result<Match> FamilyParser::read_match(const TomlTable& table) const {
  AK_TRY_VOID(table.allow_keys({"aten", "args", "sequence", "casts", "tensors", "dims", "flags", "scalars",
                                "transposed", "channels_last", "require", "absent", "flatten", "halves",
                                "has", "results"}));
  if (table.has("aten") == table.has("sequence"))
    return table.error("aten", "expected either `aten` with `args`, or `sequence`");
  if (table.has("absent") && !table.has("aten"))
    return table.error("absent", "only arguments of `aten` can be absent", "in a sequence: none");
  Match match;
  if (table.has("casts")) {
    AK_TRY(casts, table.string("casts"));
    if (casts != "ignore") return table.error("casts", "expected \"ignore\"");
    match.ignore_casts = true;
  }
  AK_TRY_VOID(read_match_steps(table, match));
  AK_TRY_VOID(read_match_tensors(table, match));
  AK_TRY_VOID(read_match_values(table, match));
  if (table.has("aten"))
    AK_TRY_VOID(check_listed(table, "results", tensor_names(TensorRole::kOut), "output"));
  return match;
}

Status FamilyParser::read_matches() {
  AK_TRY(tables, root_.tables("match"));
  for (const TomlTable& table : tables) {
    AK_TRY(match, read_match(table));
    family_.matches.push_back(std::move(match));
  }
  return {};
}

}  // namespace ak::op
