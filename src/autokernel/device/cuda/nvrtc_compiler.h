#pragma once
// CUDA C++ to cubin and PTX by NVRTC, in a sandboxed child process; needs no GPU.
//
//   AK_TRY(location, find_nvrtc(NvrtcSearch::from_environment()));
//   AK_TRY(compiler, NvrtcCompiler::create({.location = location, .headers = embed::device_headers(), ...}));
//   AK_TRY(outcome, compiler.compile(source));   // source.arch = "sm_90a"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autokernel/base/embedded_file.h"
#include "autokernel/device/compiler.h"
#include "autokernel/device/cuda/nvrtc_job.h"
#include "autokernel/device/cuda/nvrtc_process.h"
#include "autokernel/device/object_cache.h"

namespace ak::cuda {

struct NvrtcOptions {
  NvrtcLocation location;
  std::span<const EmbeddedFile> headers;  ///< the device-side library, by include path
  /// A program that calls nvrtc_child_main().
  std::vector<std::string> child_command = {"/proc/self/exe", "__nvrtc"};
  std::optional<device::ObjectCache> cache;
  Confinement confinement =
      Confinement::kSandbox;  ///< kNone only on the user's explicit wish; recorded in the Binary
  std::chrono::milliseconds deadline{60'000};  ///< of one compile
  std::uint64_t memory_bytes = 8ULL << 30;     ///< address space of the child
};

/// One compile at a time: each compiler has one child, which stays for the next compile.
class NvrtcCompiler final : public device::Compiler {
 public:
  /// Fails where the sandbox is wanted and this kernel lacks a part of it: the error says which.
  static Result<NvrtcCompiler> create(NvrtcOptions options);

  Result<device::CompileOutcome> compile(const Source& source) override;
  std::string description() const override;  ///< "NVRTC 13.0"

 private:
  explicit NvrtcCompiler(NvrtcOptions options);
  Result<device::CompileOutcome> compile_fresh(const Source& source);
  NvrtcJob job_for(const Source& source, std::string text) const;
  Result<device::CompileOutcome> run(const NvrtcJob& job, const Source& source);
  Result<device::CompileOutcome> judge(NvrtcAnswer answer, const Source& source) const;
  Result<Binary> binary_from(NvrtcAnswer answer, const Source& source) const;

  NvrtcOptions options_;
  NvrtcProcess process_;
  std::vector<NvrtcHeader> headers_;
  std::string identity_;  ///< version, options and headers: a part of the cache's key
};

}  // namespace ak::cuda
