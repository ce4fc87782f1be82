#include "autokernel/torch/profile_model.h"

#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/json.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/core/field_reader.h"
#include "autokernel/embed/python_bridge.h"
#include "autokernel/torch/bridge.h"

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
  std::vector<std::string> argv = {spec.python, "-m", "autokernel.profile"};
  // `--name=value`: a value may begin with a dash.
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) argv.push_back(fmt::format("--{}={}", name, value));
  };
  const auto add_all = [&](std::string_view name, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(name, value);
  };
  add("output", spec.trace.string());
  add("record", spec.record.string());
  add("device", spec.device);
  add("dtype", spec.dtype);
  add("warmup", std::to_string(spec.warmup));
  add("iterations", std::to_string(spec.iterations));
  add("module", spec.model.package);
  add("factory", spec.model.factory);
  add("config", spec.model.config);
  add("pretrained", spec.model.pretrained);
  add_all("arg", spec.model.arguments);
  add_all("config-arg", spec.model.config_arguments);
  add_all("input", spec.model.inputs);
  add_all("keyword", spec.model.keywords);
  if (spec.mode == Mode::kTraining) argv.emplace_back("--train");
  if (spec.compile == Compile::kYes) argv.emplace_back("--compile");
  if (spec.graph == Graph::kNone) argv.emplace_back("--no-graph");
  if (!spec.model.file.empty()) argv.insert(argv.end(), {"--", spec.model.file});
  return argv;
}

tl::unexpected<Error> no_answer(const ProfileSpec& spec, const ProcessResult& done) {
  if (done.signal == SIGKILL) {
    return environment_error(
        "profiling {}: {} was killed, as the system does where memory runs out: make the input smaller "
        "(--input), or the model",
        spec.model.name(), spec.python);
  }
  const std::string end = ExitStatus{done.exit_code, done.signal}.describe();
  const std::string said = last_bytes(done.err, kShownError);
  return environment_error("profiling {}: {} ended without an answer ({}){}{}", spec.model.name(),
                           spec.python, end,
                           said.empty() ? "" : "; the last that it printed, which need not say why:\n", said);
}

std::string text_or_empty(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Result<Profiled> read_answer(const ProfileSpec& spec, const ProcessResult& done) {
  if (done.timed_out)
    return environment_error("profiling {} took more than {} minutes", spec.model.name(),
                             spec.deadline.count());
  const Result<Json> answer = parse_json(done.out, "the bridge's answer");
  if (!answer) return no_answer(spec, done);
  AK_TRY(in, JsonReader::object(*answer, "the bridge's answer"));
  if (in.has("error")) {
    AK_TRY(error, in.get_string("error"));
    const std::string frames = text_or_empty(*answer, "traceback");
    return usage_error("cannot profile {}: {}{}{}", spec.model.name(), error, frames.empty() ? "" : "\n",
                       frames);
  }
  Profiled profiled;
  FieldReader fields = *FieldReader::object(*answer, "the bridge's answer");
  fields.read("torch", profiled.torch_version);
  fields.read("device", profiled.device);
  fields.read("dtype", profiled.dtype);
  fields.read("wall_ms_per_iteration", profiled.wall_ms_per_iteration);
  fields.read("notes", profiled.notes);
  profiled.graph_by = text_or_empty(*answer, "graph_by");
  profiled.graph_why_not = text_or_empty(*answer, "graph_why_not");
  return fields.finish(std::move(profiled));
}

}  // namespace

Result<Profiled> profile_model(const ProfileSpec& spec) {
  AK_TRY(bridge, TempDir::create("autokernel-bridge"));
  AK_TRY_VOID(write_bridge(bridge.path()));
  ProcessSpec process;
  process.argv = command_of(spec);
  process.environment = environment_with(bridge.path());
  process.deadline = spec.deadline;
  const Result<ProcessResult> run = run_process(process);
  if (!run) {
    return environment_error("{}: name an interpreter that has PyTorch with --python or $AUTOKERNEL_PYTHON",
                             run.error().message);
  }
  return read_answer(spec, *run);
}

}  // namespace ak::torch
