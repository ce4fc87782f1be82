#include "autokernel/api/template_text.h"

#include <nlohmann/json.hpp>

#include "autokernel/base/json.h"
#include "autokernel/kernel/values.h"

namespace ak::api {
namespace {

/// A TOML list of basic strings, whose escapes are JSON's.
std::string list_of(const std::vector<std::string>& items) { return Json(items).dump(); }

std::string list_of(const std::vector<ParameterValue>& values) {
  std::string out;
  for (const ParameterValue& value : values) {
    out += fmt::format("{}{}", out.empty() ? "[" : ", ", kernel::toml_text(value));
  }
  return out + "]";
}

Status check(const GeneratorOptions& options) {
  if (options.op.empty())
    return usage_error("a template needs GeneratorOptions::op: the op family that it computes");
  if (options.launch.grid.empty() || options.launch.block.empty()) {
    return usage_error(
        "a template needs GeneratorOptions::launch.grid and launch.block, e.g. {{\"M\"}} and "
        "{{\"block_size\"}}");
  }
  for (const auto& [name, values] : options.parameters) {
    if (values.empty()) return usage_error("parameter `{}` has no values", name);
  }
  return {};
}

}  // namespace

Result<std::string> kernel_file_of_template(const GeneratorOptions& options) {
  AK_TRY_VOID(check(options));
  std::string front = fmt::format("/* autokernel\nop = {}\ndtypes = [{}]\ntemplate = true\n",
                                  Json(options.op).dump(), Json(options.dtype).dump());
  std::string defaults;
  if (!options.parameters.empty()) front += "[tunables]\n";
  for (const auto& [name, values] : options.parameters) {
    front += fmt::format("{} = {}\n", name, list_of(values));
    defaults += fmt::format("{} = {}\n", name, kernel::toml_text(values.front()));
  }
  if (!defaults.empty()) front += "[defaults]\n" + defaults;
  front += fmt::format("[[launch]]\nentry = {}\ngrid = {}\nblock = {}\nargs = {}\n*/\n",
                       Json(options.launch.entry).dump(), list_of(options.launch.grid),
                       list_of(options.launch.block), list_of(options.launch.args));
  return front + options.text;
}

}  // namespace ak::api
