#include "autokernel/cli/model_profile.h"

#include <CLI/CLI.hpp>

#include "autokernel/base/file.h"
#include "autokernel/cli/planning.h"
#include "autokernel/plan/profile_record.h"

namespace ak::cli {
namespace {

bool names_model(const std::string& file) {
  return file.ends_with(".py") || file.find(".py:") != std::string::npos;
}

Result<torch::ProfileSpec> spec_of(Session& session, const ModelOptions& options) {
  AK_TRY(settings, session.settings({}));
  torch::ProfileSpec spec;
  spec.python = settings.get_text("python");
  spec.model = options.model;
  spec.trace = session.workspace_folder() / "trace.json.gz";
  spec.record = session.workspace_folder() / "profile.json";
  if (!options.torch_device.empty()) spec.device = options.torch_device;
  if (!options.dtype.empty()) spec.dtype = options.dtype;
  spec.iterations = options.iterations;
  spec.warmup = options.warmup;
  spec.mode = options.train ? torch::Mode::kTraining : torch::Mode::kInference;
  spec.compile = options.compile ? torch::Compile::kYes : torch::Compile::kNo;
  spec.graph = options.no_graph ? torch::Graph::kNone : torch::Graph::kCapture;
  return spec;
}

void tell(Session& session, const torch::ProfileSpec& spec, const torch::Profiled& profiled) {
  for (const std::string& note : profiled.notes) session.log().info("{}", note);
  if (profiled.graph_by.empty()) {
    session.log().info("no graph of the model, so it was run as it is: {}", profiled.graph_why_not);
  } else {
    session.log().info("graph of the model: by {}; its outputs and its ops are the model's",
                       profiled.graph_by);
  }
  session.log().info("{}: PyTorch {} on {}, {}, {:.1f} ms an iteration with the profiler on",
                     spec.record.string(), profiled.torch_version, profiled.device, profiled.dtype,
                     profiled.wall_ms_per_iteration);
}

/// The trace may be hundreds of MB: copied as a file.
Status export_trace(const std::filesystem::path& trace, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::copy_file(trace, to, std::filesystem::copy_options::overwrite_existing, error);
  if (error) return usage_error("--export-trace {}: cannot write: {}", to.string(), error.message());
  return {};
}

/// Where a profile is made, beside the earlier one, which stays until the new one is whole and planned.
class Staging {
 public:
  static Result<Staging> create(const std::filesystem::path& workspace) {
    Staging staging(workspace / "profiling");
    std::error_code ignored;  // what a killed run left
    std::filesystem::remove_all(staging.folder_, ignored);
    AK_TRY_VOID(ak::create_directories(staging.folder_));
    return staging;
  }
  Staging(Staging&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  std::filesystem::path at(const std::filesystem::path& file) const { return folder_ / file.filename(); }
  Status publish(const std::filesystem::path& file) const {
    std::error_code error;
    std::filesystem::rename(at(file), file, error);
    if (error) return environment_error("cannot write {}: {}", file.string(), error.message());
    return {};
  }

 private:
  explicit Staging(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
};

Result<plan::Plan> profile_and_plan(Session& session, const torch::ProfileSpec& spec,
                                    const std::string& export_to) {
  AK_TRY(staging, Staging::create(session.workspace_folder()));
  torch::ProfileSpec staged = spec;
  staged.trace = staging.at(spec.trace);
  staged.record = staging.at(spec.record);
  AK_TRY(profiled, torch::profile_model(staged));
  tell(session, spec, profiled);
  if (!export_to.empty()) AK_TRY_VOID(export_trace(staged.trace, export_to));
  AK_TRY(planned, plan_of_trace(session, staged.record.string()));
  AK_TRY_VOID(plan::add_sites(staged.record, planned));
  AK_TRY_VOID(staging.publish(spec.trace));
  AK_TRY_VOID(staging.publish(spec.record));
  return planned;
}

}  // namespace

void add_python(CLI::App& command, GlobalOptions& global) {
  command.add_option("--python", global.python,
                     "interpreter that has PyTorch (default: the setting `python`)");
}

void add_model_options(CLI::App& command, ModelOptions& model, GlobalOptions& global) {
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* help) {
    command.add_option(name, values, help)->allow_extra_args(false);
  };
  command.add_option("--module", model.model.package,
                     "instead of a file: an installed package, e.g. transformers");
  command.add_option("--factory", model.model.factory,
                     "class or function of --module, e.g. AutoModelForCausalLM.from_config");
  command.add_option("--config", model.model.config, "configuration class of --module, for --factory");
  list("--config-arg", model.model.config_arguments, "NAME=VALUE of --config; may be repeated");
  command.add_option("--pretrained", model.model.pretrained,
                     "published weights: from_pretrained(NAME) of --factory");
  list("--arg", model.model.arguments, "NAME=VALUE of the class or function; may be repeated");
  list("--input", model.model.inputs,
       "[NAME=]SHAPE[:DTYPE[:LOW..HIGH]], e.g. 1x1024:int64; may be repeated (default: those of the "
       "function)");
  list("--keyword", model.model.keywords, "NAME=VALUE that forward takes and is no tensor; may be repeated");
  add_python(command, global);
  command.add_option("--torch-device", model.torch_device, "auto, cpu, cuda, cuda:1 (default: auto)");
  command.add_option("--dtype", model.dtype, "f32, f16, bf16 (default: bf16 on a GPU, f32 on a CPU)")
      ->check(CLI::IsMember({"auto", "f32", "f16", "bf16"}));
  command.add_option("--iterations", model.iterations, "recorded (default: 1)")->check(CLI::Range(1, 1000));
  command.add_option("--warmup", model.warmup, "before them (default: 3)")->check(CLI::Range(0, 1000));
  command.add_flag("--train", model.train, "forward and backward pass instead of inference");
  command.add_flag("--compile", model.compile, "under torch.compile");
  command.add_flag("--no-graph", model.no_graph, "run the model itself, not a graph of it");
  command.add_option("--export-trace", model.export_trace, "copy the trace to this file");
}

Result<plan::Plan> plan_of_model(Session& session, const ModelOptions& options) {
  if (options.model.file.empty() == options.model.package.empty())
    return usage_error("name one model: MODEL.py, MODEL.py:NAME, or --module PACKAGE --factory NAME");
  AK_TRY(spec, spec_of(session, options));
  AK_TRY_VOID(ak::create_directories(session.workspace_folder()));
  const Result<std::optional<FileLock>> held = ledger::Workspace::lock_if_there(session.workspace_folder());
  if (!held) return tl::unexpected(held.error());
  session.log().info("profiling {} with {}", spec.model.name(), spec.python);
  Result<plan::Plan> planned = profile_and_plan(session, spec, options.export_trace);
  if (!planned) {
    std::error_code ignored;
    std::filesystem::remove(session.workspace_folder(), ignored);  // where nothing is in it
  }
  return planned;
}

Result<plan::Plan> plan_of(Session& session, const std::string& file, const ModelOptions& model) {
  if (names_model(file) || !model.model.package.empty()) {
    ModelOptions named = model;
    named.model.file = file;
    return plan_of_model(session, named);
  }
  if (model != ModelOptions{}) {
    return usage_error(
        "{}: options of a model are given (--input, --dtype, --train, ...), but no model is named: "
        "MODEL.py:NAME, or "
        "--module PACKAGE --factory NAME",
        file.empty() ? "no file" : file);
  }
  return file.empty() ? stored_plan(session, session.workspace_folder()) : plan_of_trace(session, file);
}

}  // namespace ak::cli
