// What is there: config, doctor.

#include <sys/statvfs.h>

#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/sandbox.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/base/text_table.h"
#include "autokernel/cli/commands.h"
#include "autokernel/device/cuda/driver_api.h"
#include "autokernel/device/cuda/nvrtc_compiler.h"
#include "autokernel/torch/interpreter.h"

namespace ak::cli {
namespace {

constexpr std::chrono::seconds kPythonDeadline{60};  ///< a first import of PyTorch may take many seconds

struct Finding {
  enum class State { kOk, kMissing, kOptional } state;
  std::string what, found, remedy;
};

/// `cache`: what was found of the folder, where the compiler's headers lie too.
Finding check_compiler(Session& session, const Finding& cache) {
  constexpr const char* kWhat = "host compiler (CPU device)";
  if (cache.state != Finding::State::kOk)
    return {Finding::State::kMissing, kWhat, "not looked for: the object cache cannot be used", ""};
  Result<worker::RunnerParts> parts =
      parts_factory("cpu", session.options().unsafe_no_sandbox)(worker::Role::kMeasure);
  if (parts) return {Finding::State::kOk, kWhat, parts->compiler->description(), ""};
  return {Finding::State::kMissing, kWhat, parts.error().message,
          "install g++ (apt-get install g++) or set AUTOKERNEL_CXX"};
}

Finding check_sandbox() {
  SandboxSupport support = sandbox_support();
  if (support.complete()) {
    return {Finding::State::kOk, "sandbox", fmt::format("Landlock ABI {}, seccomp", support.landlock_abi),
            ""};
  }
  return {Finding::State::kMissing, "sandbox", "missing: " + support.missing(),
          "use a kernel with Landlock and seccomp; --unsafe-no-sandbox runs without, for kernels you trust"};
}

Finding check_program(const char* program, const char* remedy) {
  Result<std::filesystem::path> path = find_program(program);
  if (path) return {Finding::State::kOk, program, path->string(), ""};
  return {Finding::State::kMissing, program, "not found on PATH", remedy};
}

Finding check_nvrtc() {
  Result<cuda::NvrtcLocation> location = cuda::find_nvrtc(cuda::NvrtcSearch::from_environment());
  if (location) return {Finding::State::kOk, "NVRTC (compile for CUDA)", location->library.string(), ""};
  return {Finding::State::kOptional, "NVRTC (compile for CUDA)", location.error().message,
          "set CUDA_HOME, or install the CUDA toolkit or the nvidia-cuda-nvrtc wheel"};
}

Finding check_driver() {
  if (!cuda::driver_present()) {
    return {Finding::State::kOptional, "NVIDIA driver (measure on a GPU)", "no device file of a driver",
            "install the NVIDIA driver, or measure with --device cpu"};
  }
  Result<cuda::DriverApi> driver = cuda::DriverApi::load();
  if (!driver) {
    return {Finding::State::kMissing, "NVIDIA driver (measure on a GPU)", driver.error().message,
            "repair the driver, or measure with --device cpu"};
  }
  return {Finding::State::kOk, "NVIDIA driver (measure on a GPU)",
          fmt::format("CUDA {}.{}", driver->version / 1000, driver->version % 1000 / 10), ""};
}

/// Only profiling and baselines need it: what is missing is no error.
Finding check_python(Session& session) {
  constexpr const char* kWhat = "Python with PyTorch (profile, baselines)";
  const auto optional = [&](std::string found, std::string remedy) {
    return Finding{Finding::State::kOptional, kWhat, std::move(found), std::move(remedy)};
  };
  const Result<ledger::Settings> settings = session.settings({});
  if (!settings) return optional(settings.error().message, "correct the setting");
  const std::string another =
      "name an interpreter that has PyTorch 2.1 or later with --python or $AUTOKERNEL_PYTHON; `plan` and "
      "`optimize` of a trace need none";
  const Result<torch::Interpreter> python =
      torch::describe_interpreter(settings->get_text("python"), kPythonDeadline);
  if (!python) return optional(python.error().message, another);
  const std::string found = fmt::format("{} ({})", python->executable, python->version);
  if (python->torch.empty())
    return optional(fmt::format("{}, no PyTorch ({})", found, python->why_not), another);
  const std::string with_torch = fmt::format("{}, PyTorch {}", found, python->torch);
  if (!python->why_not.empty())
    return optional(fmt::format("{}, broken: {}", with_torch, python->why_not), another);
  const std::string all =
      python->cuda.empty()  ? with_torch + " without CUDA"
      : python->gpu.empty() ? fmt::format("{} with CUDA {}, sees no GPU", with_torch, python->cuda)
                            : fmt::format("{} with CUDA {}, sees {}", with_torch, python->cuda, python->gpu);
  if (!cuda::driver_present() || !python->gpu.empty()) return {Finding::State::kOk, kWhat, all, ""};
  return optional(
      all,
      "models are profiled on the CPU, and kernels are not compared with PyTorch: install a PyTorch "
      "that fits the driver, or name another interpreter with --python");
}

Finding check_writable(const char* what, const std::filesystem::path& folder, const char* remedy) {
  Status made = ak::create_directories(folder);
  Status written = made ? write_file_atomic(folder / ".doctor", "ok") : made;
  if (!written) return {Finding::State::kMissing, what, written.error().message, remedy};
  std::error_code ignored;
  std::filesystem::remove(folder / ".doctor", ignored);
  struct statvfs disk{};
  double free_gb = ::statvfs(folder.c_str(), &disk) == 0
                       ? static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / 1e9
                       : 0;
  return {Finding::State::kOk, what, fmt::format("{} ({:.1f} GB free)", folder.string(), free_gb), ""};
}

std::string_view state_name(Finding::State state) {
  switch (state) {
    case Finding::State::kOk:
      return "ok";
    case Finding::State::kMissing:
      return "missing";
    case Finding::State::kOptional:
      return "optional";
  }
  return "";
}

}  // namespace

Result<int> run_doctor(Session& session) {
  const Finding cache =
      check_writable("object cache", cache_directory(), "set AUTOKERNEL_CACHE to a writable folder");
  std::vector<Finding> findings = {check_compiler(session, cache),
                                   check_sandbox(),
                                   check_program("git", "apt-get install git"),
                                   cache,
                                   check_nvrtc(),
                                   check_driver(),
                                   check_python(session)};
  bool complete = true;
  Json list = Json::array();
  std::string out;
  for (const Finding& each : findings) {
    complete = complete && each.state != Finding::State::kMissing;
    list.push_back({{"what", each.what},
                    {"state", std::string(state_name(each.state))},
                    {"found", each.found},
                    {"remedy", each.remedy}});
    out += fmt::format("{:<9} {}: {}\n", state_name(each.state), each.what, each.found);
    if (!each.remedy.empty()) out += fmt::format("{:<9} -> {}\n", "", each.remedy);
  }
  if (session.options().json) {
    session.print_json({{"schema", 1}, {"complete", complete}, {"findings", std::move(list)}});
  } else {
    session.print(out);
  }
  return complete ? 0 : 3;
}

Result<int> run_config(Session& session) {
  AK_TRY(settings, session.settings({}));
  for (const std::string& warning : settings.warnings()) session.log().warning("{}", warning);
  if (session.options().json) {
    Json list = Json::array();
    for (const ledger::Setting& each : settings.all()) {
      list.push_back({{"name", each.name},
                      {"value", each.value},
                      {"source", std::string(name(each.source))},
                      {"origin", each.origin}});
    }
    session.print_json({{"schema", 1}, {"settings", std::move(list)}});
    return 0;
  }
  TextTable table({"setting", "value", "source", "meaning"});
  for (const ledger::Setting& each : settings.all()) {
    table.add_row({each.name, each.value, each.origin.empty() ? std::string(name(each.source)) : each.origin,
                   each.help});
  }
  session.print(table.plain());
  return 0;
}

}  // namespace ak::cli
