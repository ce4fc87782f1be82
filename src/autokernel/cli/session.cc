#include "autokernel/cli/session.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "autokernel/base/file.h"
#include "autokernel/cli/compilers.h"
#include "autokernel/device/cpu/cpu_compiler.h"
#include "autokernel/device/cpu/cpu_device.h"
#include "autokernel/device/cuda/cuda_device.h"
#include "autokernel/device/cuda/driver_api.h"
#include "autokernel/embed/device_headers.h"

namespace ak::cli {
namespace {

/// "ssh -T box 'auto kernel'" -> four words. Quotes group, a backslash takes the next character as it is.
std::vector<std::string> split_command(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? 0 : c;
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

Result<worker::RunnerParts> cpu_parts(worker::Role role, bool unsafe_no_sandbox) {
  cpu::CpuCompilerOptions options;
  options.cache = cache_directory();
  auto headers = embed::device_headers();
  options.device_headers.assign(headers.begin(), headers.end());
  options.sandbox = unsafe_no_sandbox ? cpu::SandboxMode::kUnsafeOff : cpu::SandboxMode::kRequired;
  AK_TRY(compiler, cpu::CpuCompiler::create(std::move(options)));
  worker::RunnerParts parts;
  parts.compiler = std::move(compiler);
  if (role == worker::Role::kMeasure) {
    AK_TRY(made, cpu::CpuDevice::create({}));
    parts.device = std::move(made);
  }
  return parts;
}

Result<worker::RunnerParts> cuda_parts(worker::Role role, bool unsafe_no_sandbox, int ordinal) {
  worker::RunnerParts parts;
  AK_TRY(compiler, make_nvrtc(unsafe_no_sandbox));
  parts.compiler = std::move(compiler);
  if (role == worker::Role::kMeasure) {
    AK_TRY(made, cuda::CudaDevice::create({.compiler = parts.compiler.get(), .ordinal = ordinal}));
    parts.device = std::move(made);
  }
  return parts;
}

}  // namespace

worker::PartsFactory parts_factory(const std::string& device, bool unsafe_no_sandbox) {
  return [device, unsafe_no_sandbox](worker::Role role) -> Result<worker::RunnerParts> {
    AK_TRY(name, parse_device_name(device));
    if (name.kind == "cuda") return cuda_parts(role, unsafe_no_sandbox, name.ordinal);
    return cpu_parts(role, unsafe_no_sandbox);
  };
}

Session::Session(GlobalOptions options, Interruption& interruption)
    : options_(std::move(options)),
      interruption_(interruption),
      log_(options_.quiet ? LogLevel::kWarning : LogLevel::kInfo) {}

Result<const op::Registry*> Session::registry() {
  if (!registry_) {
    AK_TRY(made, op::Registry::create(op::embedded_families(), options_.ops));
    registry_ = std::make_unique<op::Registry>(std::move(made));
  }
  return registry_.get();
}

std::filesystem::path Session::workspace_folder() const {
  if (!options_.workspace.empty()) return options_.workspace;
  if (const char* folder = std::getenv("AUTOKERNEL_WORKSPACE"); folder != nullptr && *folder != '\0')
    return folder;
  return ledger::kDefaultWorkspace;
}

Result<ledger::Workspace> Session::open_workspace() {
  AK_TRY(workspace, ledger::Workspace::open(workspace_folder(), clock_));
  for (const std::string& action : workspace.repairs().actions) log_.info("repaired: {}", action);
  return workspace;
}

Result<ledger::Settings> Session::settings(const std::map<std::string, std::string>& flags) const {
  ledger::SettingsInput input;
  input.flags = flags;
  if (!options_.device.empty()) input.flags["device"] = options_.device;
  if (!options_.python.empty()) input.flags["python"] = options_.python;
  input.environment = ledger::process_environment();
  input.file = workspace_folder() / "autokernel.toml";
  return ledger::Settings::load(input);
}

Result<std::string> Session::device_kind() const {
  AK_TRY(values, settings({}));
  std::string kind = values.get_text("device");
  if (kind == "auto") return std::string(cuda::driver_present() ? "cuda" : "cpu");
  return kind;
}

std::vector<std::string> Session::worker_command(const std::string& device) const {
  if (!options_.worker.empty()) return split_command(options_.worker);
  std::vector<std::string> command = {"/proc/self/exe", "worker", "--device", device};
  if (options_.unsafe_no_sandbox) command.emplace_back("--unsafe-no-sandbox");
  return command;
}

Result<std::unique_ptr<worker::Pool>> Session::start_pool() {
  AK_TRY(families, registry());
  AK_TRY(device, device_kind());
  AK_TRY(values, settings({}));
  for (const std::string& warning : values.warnings()) log_.warning("{}", warning);
  worker::PoolOptions options;
  options.command = worker_command(device);
  options.compilers = std::max(1U, std::thread::hardware_concurrency());
  options.families = worker::travelling_families(*families);
  return worker::Pool::start(std::move(options));
}

void Session::note_once(const std::string& note) {
  if (noted_.insert(note).second) log_.info("{}", note);
}

Result<std::optional<torch::Baselines>> Session::baselines(
    const DeviceInfo& device, const std::map<std::string, std::string>& flags) const {
  AK_TRY(values, settings(flags));
  if (device.kind == "cpu" || !options_.worker.empty() || !values.get_switch("baseline"))
    return std::optional<torch::Baselines>();
  torch::BaselineOptions options;
  options.python = values.get_text("python");
  options.cache = cache_directory();
  return std::optional(torch::Baselines(std::move(options), device));
}

void Session::print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Session::print_json(const Json& json) const {
  print(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace ak::cli
