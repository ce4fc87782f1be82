#include "autokernel/kernel/kernel_file.h"

#include <algorithm>

#include "autokernel/base/file.h"
#include "autokernel/kernel/front_matter.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

constexpr std::uint64_t kMaxFileBytes = 4u << 20;

/// `{name}` of tunables replaced, once; every other brace stays.
std::string fill_placeholders(std::string_view code, const Config& config) {
  std::string filled;
  filled.reserve(code.size());
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t open = code.find('{', at);
    if (open == std::string_view::npos) {
      filled += code.substr(at);
      break;
    }
    filled += code.substr(at, open - at);
    std::size_t end = open + 1;
    while (end < code.size() && is_identifier_part(code[end])) ++end;
    const auto value = config.values.find(std::string(code.substr(open + 1, end - open - 1)));
    if (value != config.values.end() && end < code.size() && code[end] == '}') {
      filled += to_string(value->second);
      at = end + 1;
    } else {
      filled += '{';
      at = open + 1;
    }
  }
  return filled;
}

}  // namespace

bool KernelFile::supports_arch(std::string_view device_arch) const {
  return arch.empty() || std::find(arch.begin(), arch.end(), device_arch) != arch.end();
}

bool KernelFile::supports(DType dtype) const {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

Result<std::string> KernelFile::render(const Config& config) const {
  if (!is_template) return text;
  for (const Tunable& tunable : tunables) {
    if (!config.values.contains(tunable.name)) return usage_error("{}: no value for {}", name, tunable.name);
  }
  AK_TRY(found, find_front_matter(text, name));
  // The front matter stays as it is, so that messages of compilers and people quote the same lines.
  const std::string_view whole = text;
  return fill_placeholders(whole.substr(0, found.comment_begin), config) +
         std::string(whole.substr(found.comment_begin, found.comment_end - found.comment_begin)) +
         fill_placeholders(whole.substr(found.comment_end), config);
}

Result<KernelFile> load(const std::string& path) {
  AK_TRY(text, read_file(path, kMaxFileBytes));
  return parse(text, path);
}

Result<Config> config_with(const KernelFile& file, const std::vector<std::string>& assignments) {
  Config config = file.defaults;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      return usage_error("--set {}: expected NAME=VALUE, e.g. --set {}=...", assignment,
                         file.tunables.empty() ? "VEC" : file.tunables[0].name);
    }
    const std::string name = assignment.substr(0, equals);
    const Tunable* tunable = find_tunable(file, name);
    if (tunable == nullptr) {
      const std::string hint = spelling_hint(name, tunable_names(file));
      return usage_error("--set {}: {} has no tunable '{}'{}{}", assignment, file.name, name,
                         hint.empty() ? "" : "; ", hint);
    }
    const std::optional<TunableValue> value = value_from_text(*tunable, assignment.substr(equals + 1));
    if (!value) {
      return usage_error("--set {}: {} is one of {}", assignment, name, values_text(*tunable));
    }
    config.values[name] = *value;
  }
  return config;
}

}  // namespace ak::kernel
