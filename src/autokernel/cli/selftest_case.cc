#include "autokernel/cli/selftest_case.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/toml.h"
#include "autokernel/core/failure.h"
#include "autokernel/embed/selftest_cheats.h"
#include "autokernel/embed/selftest_honest.h"
#include "autokernel/harness/checks.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::cli {
namespace {

constexpr std::string_view kBegin = "/* selftest\n";
constexpr std::uint64_t kSeed = 20240607;
constexpr double kTimedSeconds = 0.02;

Result<std::vector<std::string>> strings(const TomlDocument& document, const std::string& key) {
  const Json& value = document.root().at(key);
  if (value.is_string()) return std::vector<std::string>{value.get<std::string>()};
  std::vector<std::string> list;
  if (!value.is_array()) return document.error_at("/" + key, "expected a string or a list of strings");
  for (const Json& each : value) {
    if (!each.is_string()) return document.error_at("/" + key, "expected strings");
    list.push_back(each.get<std::string>());
  }
  return list;
}

Status read_checks(const TomlDocument& document, const std::string& device, SelftestCase& planted) {
  AK_TRY(checks, strings(document, device));
  for (const std::string& check : checks) {
    std::span<const std::string_view> ids = harness::check_ids();
    // `compile` is what the compiler itself refuses: no check of ours.
    if (check == "compile" || std::find(ids.begin(), ids.end(), check) != ids.end()) continue;
    return document.error_at("/" + device, fmt::format("unknown check `{}`", check));
  }
  planted.checks[device] = std::move(checks);
  return {};
}

Status read_key(const TomlDocument& document, const std::string& key, const Json& value,
                SelftestCase& planted) {
  if (key == "dims" || key == "cuda_dims") {
    AK_TRY(dims, strings(document, key));
    (key == "dims" ? planted.dims : planted.cuda_dims) = std::move(dims);
    return {};
  }
  if (key == "cpu" || key == "cuda") return read_checks(document, key, planted);
  if (key == "about" && value.is_string()) {
    planted.about = value.get<std::string>();
  } else if ((key == "kind" || key == "cuda_kind") && value.is_string() &&
             failure_kind_from_name(value.get<std::string>())) {
    (key == "kind" ? planted.kind : planted.cuda_kind) = value.get<std::string>();
  } else if (key == "runs" && value.is_boolean()) {
    planted.runs = value.get<bool>();
  } else if (key == "hangs" && value.is_boolean()) {
    planted.hangs = value.get<bool>();
  } else if (key == "cuda_chance" && value.is_boolean()) {
    planted.cuda_chance = value.get<bool>();
  } else if (key == "clock_skew" && value.is_number()) {
    planted.clock_skew = value.get<double>();
  } else {
    return document.error_at("/" + key, fmt::format("unknown key, or a wrong value of `{}`", key));
  }
  return {};
}

Result<std::vector<SelftestCase>> parse_all(std::span<const EmbeddedFile> files) {
  std::vector<SelftestCase> cases;
  for (const EmbeddedFile& file : files) {
    AK_TRY(planted, parse_selftest_case(file));
    cases.push_back(std::move(planted));
  }
  return cases;
}

}  // namespace

Result<SelftestCase> parse_selftest_case(const EmbeddedFile& file) {
  SelftestCase planted;
  planted.name = std::string(file.path.substr(0, file.path.rfind('.')));
  planted.text = std::string(file.text);
  const std::size_t begin = planted.text.find(kBegin);
  const std::size_t end = planted.text.find("*/", begin);
  if (begin == std::string::npos || end == std::string::npos) {
    return internal_error("{}: no comment that begins with `/* selftest`", file.path);
  }
  const std::size_t toml = begin + kBegin.size();
  const auto lines =
      std::count(planted.text.begin(), planted.text.begin() + static_cast<std::ptrdiff_t>(toml), '\n');
  AK_TRY(document, parse_toml(std::string_view(planted.text).substr(toml, end - toml),
                              {.name = std::string(file.path), .first_line = static_cast<int>(lines) + 1}));
  for (const auto& [key, value] : document.root().items()) {
    AK_TRY_VOID(read_key(document, key, value, planted));
  }
  if (planted.about.empty() || planted.dims.empty()) {
    return document.error_at("", "`about` and `dims` must be given");
  }
  if (planted.kind.empty() != planted.checks.empty()) {
    return document.error_at("", "a cheat names its `kind` and the checks of at least one device");
  }
  return planted;
}

Result<std::vector<SelftestCase>> selftest_cheats() { return parse_all(embed::selftest_cheats()); }
Result<std::vector<SelftestCase>> selftest_honest() { return parse_all(embed::selftest_honest()); }

Result<harness::Job> selftest_job(const SelftestCase& planted, const std::string& device,
                                  const op::Registry& registry) {
  harness::Job job;
  AK_TRY(file, kernel::parse(planted.text, planted.name + ".cu"));
  AK_TRY(family, registry.find(file.op));
  job.target.op = file.op;
  for (const std::string& dims : planted.dims_on(device)) {
    AK_TRY(size, op::parse_size(*family, dims));
    for (DType dtype : file.dtypes) {
      AK_TRY(problem, op::make_problem(*family, size, dtype));
      job.target.problems.push_back(
          {.id = fmt::format("p{}", job.target.problems.size()), .problem = std::move(problem)});
    }
  }
  job.candidate = {file.name, file.text, file.defaults};
  job.seed = kSeed;
  job.time_budget_s = kTimedSeconds;
  return job;
}

}  // namespace ak::cli
