#include "autokernel/torch/profile_model.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/json.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/embed/python_bridge.h"
#include "autokernel/ledger/settings.h"

namespace ak::torch {
namespace {

constexpr std::size_t kShownError = 2000;

Status write_bridge(const std::filesystem::path& folder) {
  for (const EmbeddedFile& file : embed::python_bridge()) {
    const std::filesystem::path path = folder / file.path;
    AK_TRY_VOID(ak::create_directories(path.parent_path()));
    AK_TRY_VOID(write_file_atomic(path, file.text));
  }
  return {};
}

/// The user's environment, in which the bridge is found first.
std::vector<std::string> environment_with(const std::filesystem::path& bridge) {
  std::vector<std::string> environment;
  std::string path = "PYTHONPATH=" + bridge.string();
  constexpr std::string_view kOwn = "PYTHONPATH=";
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(kOwn)) {
      path += fmt::format(":{}", text.substr(kOwn.size()));
    } else {
      environment.emplace_back(text);
    }
  }
  environment.push_back(std::move(path));
  environment.emplace_back("PYTHONDONTWRITEBYTECODE=1");
  return environment;
}

std::vector<std::string> command_of(const ProfileSpec& spec) {
  std::vector<std::string> argv = {spec.python,
                                   "-m",
                                   "autokernel.profile",
                                   spec.model.string(),
                                   "--output",
                                   spec.trace.string(),
                                   "--device",
                                   spec.device,
                                   "--dtype",
                                   spec.dtype,
                                   "--warmup",
                                   std::to_string(spec.warmup),
                                   "--iterations",
                                   std::to_string(spec.iterations)};
  if (spec.mode == Mode::kTraining) argv.emplace_back("--train");
  if (spec.compile == Compile::kYes) argv.emplace_back("--compile");
  return argv;
}

std::string last_lines(const std::string& text) {
  return text.size() <= kShownError ? text : "..." + text.substr(text.size() - kShownError);
}

Result<Profiled> read_answer(const ProfileSpec& spec, const ProcessResult& done) {
  if (done.timed_out)
    return environment_error("profiling {} took more than {} minutes", spec.model.string(),
                             spec.deadline.count());
  const Result<Json> answer = parse_json(done.out, "the bridge's answer");
  if (!answer) {
    return environment_error("{} ended without an answer (exit code {}, signal {}):\n{}", spec.python,
                             done.exit_code, done.signal, last_lines(done.err));
  }
  AK_TRY(in, JsonReader::object(*answer, "the bridge's answer"));
  if (in.has("error")) {
    AK_TRY(error, in.get_string("error"));
    const std::string shown = done.exit_code == 2 ? "" : "\n" + last_lines(done.err);
    return usage_error("cannot profile {}: {}{}", spec.model.string(), error, shown);
  }
  AK_TRY(version, in.get_string("torch"));
  AK_TRY(device, in.get_string("device"));
  AK_TRY(dtype, in.get_string("dtype"));
  AK_TRY(wall, in.get_double("wall_ms_per_iteration"));
  return Profiled{std::move(version), std::move(device), std::move(dtype), wall};
}

}  // namespace

Result<Profiled> profile_model(const ProfileSpec& spec) {
  AK_TRY(bridge, TempDir::create("autokernel-bridge"));
  AK_TRY_VOID(write_bridge(bridge.path()));
  ProcessSpec process;
  process.argv = command_of(spec);
  process.environment = environment_with(bridge.path());
  process.deadline = spec.deadline;
  AK_TRY(done, run_process(process));
  return read_answer(spec, done);
}

}  // namespace ak::torch
