#include "autokernel/device/cuda/nvrtc_api.h"

#include <dlfcn.h>

namespace ak::cuda {
namespace {

Result<void*> open_library(const std::filesystem::path& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return environment_error("cannot load {}: {}", path.string(), ::dlerror());
  return handle;
}

template <class Function>
Status find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr)
    return environment_error("NVRTC has no function {}: the installation is damaged", name);
  return {};
}

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

}  // namespace

void NvrtcApi::CloseLibrary::operator()(void* handle) const { ::dlclose(handle); }

Result<NvrtcApi> NvrtcApi::load(const NvrtcLocation& location) {
  NvrtcApi api;
  AK_TRY(builtins, open_library(location.builtins));
  api.builtins_.reset(builtins);
  AK_TRY(library, open_library(location.library));
  api.library_.reset(library);
  AK_TRY_VOID(find(library, "nvrtcGetErrorString", api.get_error_string));
  AK_TRY_VOID(find(library, "nvrtcVersion", api.version));
  AK_TRY_VOID(find(library, "nvrtcCreateProgram", api.create_program));
  AK_TRY_VOID(find(library, "nvrtcDestroyProgram", api.destroy_program));
  AK_TRY_VOID(find(library, "nvrtcCompileProgram", api.compile_program));
  AK_TRY_VOID(find(library, "nvrtcAddNameExpression", api.add_name_expression));
  AK_TRY_VOID(find(library, "nvrtcGetLoweredName", api.get_lowered_name));
  AK_TRY_VOID(find(library, "nvrtcGetProgramLogSize", api.get_log_size));
  AK_TRY_VOID(find(library, "nvrtcGetProgramLog", api.get_log));
  AK_TRY_VOID(find(library, "nvrtcGetPTXSize", api.get_ptx_size));
  AK_TRY_VOID(find(library, "nvrtcGetPTX", api.get_ptx));
  AK_TRY_VOID(find(library, "nvrtcGetCUBINSize", api.get_cubin_size));
  AK_TRY_VOID(find(library, "nvrtcGetCUBIN", api.get_cubin));
  AK_TRY_VOID(find(library, "nvrtcGetNumSupportedArchs", api.get_arch_count));
  AK_TRY_VOID(find(library, "nvrtcGetSupportedArchs", api.get_archs));
  int major = 0, minor = 0;
  if (api.version(&major, &minor) != NvrtcResult::kSuccess)
    return environment_error("NVRTC does not tell its version");
  if (major != location.major || minor != location.minor) {
    return environment_error(
        "{} is NVRTC {}.{}, but {} is of {}: reinstall CUDA, or set CUDA_HOME to another one",
        location.library.string(), major, minor, location.builtins.string(), location.version());
  }
  return api;
}

std::string NvrtcApi::architectures() const {
  int count = 0;
  if (get_arch_count(&count) != NvrtcResult::kSuccess || count < 0 || count > 1000) return {};
  std::vector<int> numbers(static_cast<std::size_t>(count));
  if (get_archs(numbers.data()) != NvrtcResult::kSuccess) return {};
  std::string all;
  for (const int number : numbers) all += fmt::format("{}sm_{}", all.empty() ? "" : ", ", number);
  return all;
}

Result<NvrtcProgram> NvrtcProgram::create(const NvrtcApi& api, const std::string& text,
                                          const std::string& name, std::span<const NvrtcHeader> headers) {
  std::vector<const char*> texts, names;
  for (const NvrtcHeader& header : headers) {
    texts.push_back(header.text.c_str());
    names.push_back(header.name.c_str());
  }
  NvrtcProgramHandle handle = nullptr;
  const NvrtcResult result = api.create_program(&handle, text.c_str(), name.c_str(),
                                                static_cast<int>(headers.size()), texts.data(), names.data());
  if (result != NvrtcResult::kSuccess) {
    return environment_error("NVRTC cannot begin to compile {}: {}", name, api.get_error_string(result));
  }
  return NvrtcProgram(api, handle);
}

NvrtcProgram::~NvrtcProgram() {
  if (handle_ != nullptr) api_->destroy_program(&handle_);
}

NvrtcResult NvrtcProgram::add_name_expression(const std::string& expression) {
  return api_->add_name_expression(handle_, expression.c_str());
}

NvrtcResult NvrtcProgram::compile(const std::vector<std::string>& options) {
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  return api_->compile_program(handle_, static_cast<int>(texts.size()), texts.data());
}

Result<std::string> NvrtcProgram::symbol_of(const std::string& expression) const {
  const char* symbol = nullptr;
  const NvrtcResult result = api_->get_lowered_name(handle_, expression.c_str(), &symbol);
  if (result != NvrtcResult::kSuccess || symbol == nullptr) {
    return internal_error("NVRTC does not tell the symbol of {}: {}", expression,
                          api_->get_error_string(result));
  }
  return std::string(symbol);
}

Result<std::string> NvrtcProgram::log() const {
  AK_TRY(text, fetch("log", api_->get_log_size, api_->get_log));
  return std::string(text.c_str());  // without the terminating zero, which the size counts
}

Result<std::string> NvrtcProgram::ptx() const {
  AK_TRY(text, fetch("PTX", api_->get_ptx_size, api_->get_ptx));
  return std::string(text.c_str());
}

Result<std::string> NvrtcProgram::cubin() const {
  return fetch("cubin", api_->get_cubin_size, api_->get_cubin);
}

Result<std::string> NvrtcProgram::fetch(const char* what, GetSize size, GetText text) const {
  std::size_t bytes = 0;
  NvrtcResult result = size(handle_, &bytes);
  if (result == NvrtcResult::kSuccess && bytes > kMaxTextBytes)
    return internal_error("the {} is too large", what);
  std::string content(bytes, '\0');
  if (result == NvrtcResult::kSuccess && bytes != 0) result = text(handle_, content.data());
  if (result != NvrtcResult::kSuccess) {
    return internal_error("NVRTC does not hand out the {}: {}", what, api_->get_error_string(result));
  }
  return content;
}

}  // namespace ak::cuda
