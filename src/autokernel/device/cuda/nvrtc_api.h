#pragma once
// NVRTC behind dlopen: the functions that we call, declared by us, and a handle that frees its program.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/device/cuda/nvrtc_location.h"

namespace ak::cuda {

struct NvrtcProgramTag;
using NvrtcProgramHandle = NvrtcProgramTag*;

/// Values of nvrtcResult that are told apart.
enum class NvrtcResult : int {
  kSuccess = 0,
  kOutOfMemory = 1,
  kInvalidOption = 5,
  kCompilation = 6,
  kNameExpressionNotValid = 9,
};

/// The table is valid while the object lives.
class NvrtcApi {
 public:
  /// Loads the builtins first, by full path, so that NVRTC finds them in the process and opens no file later.
  /// Fails when a file or a function is missing, or when the versions of the two do not match.
  static Result<NvrtcApi> load(const NvrtcLocation& location);

  const char* (*get_error_string)(NvrtcResult) = nullptr;
  NvrtcResult (*version)(int* major, int* minor) = nullptr;
  NvrtcResult (*create_program)(NvrtcProgramHandle*, const char* source, const char* name, int headers,
                                const char* const* header_texts, const char* const* header_names) = nullptr;
  NvrtcResult (*destroy_program)(NvrtcProgramHandle*) = nullptr;
  NvrtcResult (*compile_program)(NvrtcProgramHandle, int options, const char* const* option_texts) = nullptr;
  NvrtcResult (*add_name_expression)(NvrtcProgramHandle, const char* expression) = nullptr;
  NvrtcResult (*get_lowered_name)(NvrtcProgramHandle, const char* expression, const char** symbol) = nullptr;
  NvrtcResult (*get_log_size)(NvrtcProgramHandle, std::size_t*) = nullptr;
  NvrtcResult (*get_log)(NvrtcProgramHandle, char*) = nullptr;
  NvrtcResult (*get_ptx_size)(NvrtcProgramHandle, std::size_t*) = nullptr;
  NvrtcResult (*get_ptx)(NvrtcProgramHandle, char*) = nullptr;
  NvrtcResult (*get_cubin_size)(NvrtcProgramHandle, std::size_t*) = nullptr;
  NvrtcResult (*get_cubin)(NvrtcProgramHandle, char*) = nullptr;
  NvrtcResult (*get_arch_count)(int*) = nullptr;
  NvrtcResult (*get_archs)(int*) = nullptr;

  /// "sm_75, sm_80, ...": what it compiles for, without the variants such as sm_90a; empty: it does not tell.
  std::string architectures() const;

 private:
  struct CloseLibrary {
    void operator()(void* handle) const;
  };
  using Library = std::unique_ptr<void, CloseLibrary>;
  Library builtins_, library_;  // closed in reverse order: NVRTC first
};

/// A header that is compiled from memory.
struct NvrtcHeader {
  std::string name;  ///< as in #include
  std::string text;
};

/// One compilation. Must not outlive the table.
class NvrtcProgram {
 public:
  static Result<NvrtcProgram> create(const NvrtcApi& api, const std::string& text, const std::string& name,
                                     std::span<const NvrtcHeader> headers);
  NvrtcProgram(NvrtcProgram&& other) noexcept
      : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}
  NvrtcProgram& operator=(NvrtcProgram&&) = delete;
  ~NvrtcProgram();

  NvrtcResult add_name_expression(const std::string& expression);
  NvrtcResult compile(const std::vector<std::string>& options);
  Result<std::string> symbol_of(const std::string& expression) const;
  Result<std::string> log() const;
  Result<std::string> ptx() const;
  Result<std::string> cubin() const;

 private:
  NvrtcProgram(const NvrtcApi& api, NvrtcProgramHandle handle) : api_(&api), handle_(handle) {}
  using GetSize = NvrtcResult (*)(NvrtcProgramHandle, std::size_t*);
  using GetText = NvrtcResult (*)(NvrtcProgramHandle, char*);
  Result<std::string> fetch(const char* what, GetSize size, GetText text) const;

  const NvrtcApi* api_;
  NvrtcProgramHandle handle_;
};

}  // namespace ak::cuda
