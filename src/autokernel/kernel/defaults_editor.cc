// with_defaults: only the tokens of [defaults] that change are replaced; comments, order and blanks stay.
#include <algorithm>

#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/table_reader.h"
#include "autokernel/kernel/text_places.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

struct Edit {
  std::size_t begin, end;
  std::string text;
};

/// End of the TOML scalar that begins at `begin`.
std::size_t end_of_value(std::string_view text, std::size_t begin) {
  if (begin >= text.size()) return begin;
  const char quote = text[begin];
  if (quote != '"' && quote != '\'') {
    // A number, true or false.
    return std::min(text.find_first_of(" \t\r\n,}#*", begin), text.size());
  }
  const std::string three(3, quote);
  const bool multi_line = text.substr(begin).starts_with(three);
  const std::string close = multi_line ? three : std::string(1, quote);
  for (std::size_t at = begin + close.size(); at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text.substr(at).starts_with(close)) {
      return at + close.size();
    }
  }
  return text.size();
}

Status check_complete(const KernelFile& file, const Config& config) {
  for (const auto& [name, value] : config.values) {
    const Tunable* tunable = find_tunable(file, name);
    if (tunable == nullptr) {
      return usage_error("{} has no tunable '{}': {}", file.name, name,
                         spelling_hint(name, tunable_names(file)));
    }
    if (!position_of(*tunable, value)) {
      return usage_error("{}: {} is none of {}'s values: {}", file.name, toml_text(value), name,
                         values_text(*tunable));
    }
  }
  for (const Tunable& tunable : file.tunables) {
    if (!config.values.contains(tunable.name))
      return usage_error("{}: no value for {}", file.name, tunable.name);
  }
  return {};
}

}  // namespace

Result<std::string> with_defaults(const KernelFile& file, const Config& config) {
  AK_TRY_VOID(check_complete(file, config));
  std::vector<Edit> edits;
  for (const auto& [name, value] : config.values) {
    if (file.defaults.values.at(name) == value) continue;
    const std::size_t begin = offset_of(file.text, file.front_matter.position(child("/defaults", name)));
    edits.push_back({begin, end_of_value(file.text, begin), toml_text(value)});
  }
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.begin > b.begin; });
  std::string text = file.text;
  for (const Edit& edit : edits) text.replace(edit.begin, edit.end - edit.begin, edit.text);
  // Text is edited by places that a TOML reader reported: trust the result only after reading it again.
  const Result<KernelFile> again = parse(text, file.name);
  if (!again || again->defaults != config) {
    return internal_error("{}: the new defaults did not survive the edit{}{}", file.name, again ? "" : ": ",
                          again ? "" : again.error().message);
  }
  return text;
}

}  // namespace ak::kernel
