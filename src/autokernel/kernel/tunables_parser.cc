#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "autokernel/kernel/kernel_file_parser.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

/// What a name cannot be: words of the language of expressions and of C++ in front of device code.
constexpr std::array<std::string_view, 12> kReserved = {"true",
                                                        "false",
                                                        "min",
                                                        "max",
                                                        "ceil_div",
                                                        "elem_bytes",
                                                        "warp_size",
                                                        "max_threads",
                                                        "max_shared_bytes",
                                                        "multiprocessors",
                                                        "scalar_t",
                                                        "NULL"};

/// Why the name cannot be a tunable's, with what to do; nullopt when it can.
std::optional<std::string> name_problem(std::string_view name, bool is_template) {
  const bool reserved = std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
  if (reserved || name.starts_with("HAS_") || name.starts_with("AK_")) {
    return fmt::format("'{}' means something else already", name);
  }
  if (!is_identifier(name) || name.starts_with('_')) {
    return fmt::format("'{}' is no name: letters, digits and '_', a letter first", name);
  }
  if (name.size() < 2) {
    return fmt::format("'{}' is too short: a tunable has two letters or more", name);
  }
  const bool upper = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (!is_template && !upper) {
    return fmt::format("'{}' has lower case: a tunable becomes a macro, in capitals", name);
  }
  return std::nullopt;
}

/// Text that becomes a macro's value or fills a placeholder: one line, and nothing that swallows what
/// follows.
bool is_plain_text(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\\'; }) &&
         text.find("/*") == std::string::npos && text.find("//") == std::string::npos;
}

Result<TunableValue> read_value(const FileText& file, const Json& json, const std::string& at) {
  const std::optional<TunableValue> value = tunable_value(json);
  if (!value) {
    return file.document.error_at(
        at, "expected an integer, true, false or a string",
        json.is_number() ? "tunables have no fractions; scale it to an integer" : "");
  }
  const auto* text = std::get_if<std::string>(&*value);
  if (text != nullptr && !is_plain_text(*text)) {
    return file.document.error_at(at, "a string tunable is printable ASCII without '\\' and comments",
                                  "it becomes the text of a macro");
  }
  return *value;
}

Result<Tunable> read_tunable(const FileText& file, const std::string& name, const Json& json) {
  const std::string at = child("/tunables", name);
  if (!json.is_array() || json.empty()) {
    return file.document.error_at(at, fmt::format("expected the list of values that {} may take", name),
                                  fmt::format("e.g. {} = [1, 2, 4]", name));
  }
  if (json.size() > kMaxValues) {
    return file.document.error_at(at,
                                  fmt::format("{} values; at most {} are supported", json.size(), kMaxValues),
                                  "leave out what cannot be best");
  }
  Tunable tunable{name, {}};
  for (std::size_t i = 0; i < json.size(); ++i) {
    AK_TRY(value, read_value(file, json[i], child(at, i)));
    if (i > 0 && value.index() != tunable.values[0].index()) {
      return file.document.error_at(child(at, i),
                                    fmt::format("{} has values of two types: {} and {}", name,
                                                type_name(tunable.values[0]), type_name(value)),
                                    "one type a tunable");
    }
    tunable.values.push_back(std::move(value));
  }
  std::vector<std::size_t> order(tunable.values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return tunable.values[a] < tunable.values[b]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (tunable.values[order[i - 1]] != tunable.values[order[i]]) continue;
    return file.document.error_at(child(at, order[i]),
                                  fmt::format("{} is listed twice", to_string(tunable.values[order[i]])),
                                  "remove one");
  }
  return tunable;
}

Result<TunableValue> read_default(const FileText& file, const Tunable& tunable, const Json& json) {
  const std::string at = child("/defaults", tunable.name);
  const std::optional<TunableValue> value = tunable_value(json);
  if (value && position_of(tunable, *value)) return *value;
  return file.document.error_at(at, fmt::format("the default of {} is not one of its values", tunable.name),
                                fmt::format("one of {}", values_text(tunable)));
}

Status read_defaults(const FileText& file, const TableReader& root, KernelFile& out) {
  std::vector<std::string> known;
  for (const Tunable& tunable : out.tunables) known.push_back(tunable.name);
  if (root.has("defaults")) {
    AK_TRY(table, TableReader::create(file, "/defaults"));
    for (const std::string& key : table.keys()) {
      const auto tunable = std::find_if(out.tunables.begin(), out.tunables.end(),
                                        [&](const Tunable& it) { return it.name == key; });
      if (tunable == out.tunables.end()) {
        return file.error_at_key("/defaults", key, fmt::format("'{}' is no tunable", key),
                                 spelling_hint(key, known));
      }
      AK_TRY(value, read_default(file, *tunable, *table.find(key)));
      out.defaults.values[key] = std::move(value);
    }
  }
  for (const Tunable& tunable : out.tunables) {
    if (out.defaults.values.contains(tunable.name)) continue;
    const std::string hint = fmt::format("add {}{} = {}", root.has("defaults") ? "" : "[defaults] with ",
                                         tunable.name, toml_text(tunable.values[0]));
    return file.document.error_at(root.has("defaults") ? "/defaults" : child("/tunables", tunable.name),
                                  fmt::format("{} has no default", tunable.name), hint);
  }
  return {};
}

}  // namespace

std::optional<TunableValue> tunable_value(const Json& json) {
  if (json.is_boolean()) return TunableValue(json.get<bool>());
  if (json.is_string()) return TunableValue(json.get<std::string>());
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  if (json.is_number_integer()) return TunableValue(json.get<std::int64_t>());
  return std::nullopt;
}

std::string_view type_name(const TunableValue& value) {
  constexpr std::string_view kNames[] = {"integer", "boolean", "string"};
  return kNames[value.index()];
}

Status read_tunables(const FileText& file, KernelFile& out) {
  AK_TRY(root, TableReader::create(file, ""));
  if (root.has("tunables")) {
    AK_TRY(table, TableReader::create(file, "/tunables"));
    for (const std::string& key : table.keys()) {
      if (const auto problem = name_problem(key, out.is_template)) {
        return file.error_at_key("/tunables", key, *problem, "e.g. THREADS, VEC, TILE_M");
      }
      AK_TRY(tunable, read_tunable(file, key, *table.find(key)));
      out.tunables.push_back(std::move(tunable));
    }
  }
  if (out.tunables.size() > kMaxTunables) {
    return file.document.error_at(
        "/tunables", fmt::format("{} tunables; at most {} are supported", out.tunables.size(), kMaxTunables),
        "make constants of those that matter least");
  }
  return read_defaults(file, root, out);
}

}  // namespace ak::kernel
