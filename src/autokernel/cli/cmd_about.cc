// What is there: ops, config, doctor.

#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "autokernel/base/file.h"
#include "autokernel/base/sandbox.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/base/text_table.h"
#include "autokernel/cli/commands.h"
#include "autokernel/device/cuda/driver_api.h"
#include "autokernel/device/cuda/nvrtc_compiler.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/torch/interpreter.h"

namespace ak::cli {
namespace {

std::string size_label(const op::Family& family, const op::Size& size) {
  std::string label;
  for (const std::string& dim : family.dims) {
    auto it = size.dims.find(dim);
    if (it != size.dims.end()) label += fmt::format("{}{}={}", label.empty() ? "" : ",", dim, it->second);
  }
  for (const auto& [flag, value] : size.flags) label += fmt::format(",{}={}", flag, value);
  for (const std::string& tensor : size.has) label += "," + tensor;
  return label;
}

Result<int> show_family(Session& session, const op::Family& family) {
  if (session.options().json) {
    Json kernels = Json::array();
    for (const op::KernelSource& kernel : family.kernels) kernels.push_back(kernel.name);
    session.print_json({{"schema", 1},
                        {"name", family.name},
                        {"about", family.about},
                        {"dims", family.dims},
                        {"kernels", std::move(kernels)},
                        {"hash", family.hash}});
    return 0;
  }
  std::string out =
      fmt::format("op: {}\nabout: {}\ndims: {}\nflops: {}\nbytes: {}\n", family.name, family.about,
                  fmt::join(family.dims, " "), family.flops.text(), family.bytes.text());
  for (const op::FlagSpec& flag : family.flags) {
    out += fmt::format("flag: {} in {{{}}}{}, default {}\n", flag.name, fmt::join(flag.values, ", "),
                       flag.range ? fmt::format(" or {} to {}", flag.range->first, flag.range->second) : "",
                       flag.values.front());
  }
  for (const op::ScalarSpec& scalar : family.scalars) {
    out += fmt::format("scalar: {} ({}), default {:g}\n", scalar.name,
                       scalar.type == op::ScalarSpec::Type::kInt ? "int" : "float", scalar.default_value);
  }
  for (const op::TensorSpec& tensor : family.tensors) {
    std::string shape;
    for (const Expr& extent : tensor.shape) shape += (shape.empty() ? "" : ", ") + extent.text();
    out += fmt::format("tensor: {} [{}]{}{}\n", tensor.name, shape,
                       tensor.role == op::TensorRole::kIn ? "" : " (output)",
                       tensor.optional ? " (optional)" : "");
  }
  for (const auto& [set, sizes] : family.sizes) {
    for (const op::Size& size : sizes) out += fmt::format("size: {} {}\n", set, size_label(family, size));
  }
  for (const op::KernelSource& kernel : family.kernels) {
    AK_TRY(file, kernel::parse(kernel.text, kernel.name));
    out += fmt::format("kernel: {}{}\n", kernel.name,
                       file.arch.empty() ? "" : fmt::format(" ({} only)", fmt::join(file.arch, ", ")));
  }
  session.print(out);
  return 0;
}

constexpr std::chrono::seconds kPythonDeadline{60};  ///< a first import of PyTorch may take many seconds

struct Finding {
  enum class State { kOk, kMissing, kOptional } state;
  std::string what, found, remedy;
};

Finding check_compiler(Session& session) {
  Result<worker::RunnerParts> parts =
      parts_factory("cpu", session.options().unsafe_no_sandbox)(worker::Role::kMeasure);
  if (parts) return {Finding::State::kOk, "host compiler (CPU device)", parts->compiler->description(), ""};
  return {Finding::State::kMissing, "host compiler (CPU device)", parts.error().message,
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

Result<int> run_ops(Session& session, const OpsOptions& options) {
  AK_TRY(registry, session.registry());
  if (!options.name.empty()) {
    AK_TRY(family, registry->find(options.name));
    return show_family(session, *family);
  }
  if (session.options().json) {
    Json list = Json::array();
    for (const op::Family& family : registry->families()) {
      list.push_back({{"name", family.name}, {"about", family.about}, {"kernels", family.kernels.size()}});
    }
    session.print_json({{"schema", 1}, {"ops", std::move(list)}});
    return 0;
  }
  TextTable table({"op", "kernels", "about"}, {TextTable::Align::kLeft, TextTable::Align::kRight});
  for (const op::Family& family : registry->families()) {
    table.add_row({family.name, std::to_string(family.kernels.size()), family.about});
  }
  session.print(table.plain());
  return 0;
}

Result<int> run_doctor(Session& session) {
  std::vector<Finding> findings = {
      check_compiler(session),
      check_sandbox(),
      check_program("git", "apt-get install git"),
      check_writable("object cache", cache_directory(), "set AUTOKERNEL_CACHE to a writable folder"),
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
