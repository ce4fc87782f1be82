#pragma once
// The CPU device's compiler: CUDA C++ -> a shared object that the runtime (abi.h) runs, by the host's g++ or
// clang++ in a sandbox. The kernel file's text is rewritten (rewrite.h), compiled against the prelude instead
// of the host's and CUDA's headers, and what came out is examined (elf_facts.h).
//
//   AK_TRY(compiler, CpuCompiler::create({.device_headers = ..., .cache = cache_directory()}));
//   AK_TRY(outcome, compiler->compile(source));

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/base/embedded_file.h"
#include "autokernel/base/result.h"
#include "autokernel/base/subprocess.h"
#include "autokernel/device/compiler.h"
#include "autokernel/device/cpu/header_store.h"
#include "autokernel/device/cpu/host_compiler.h"
#include "autokernel/device/cpu/precompiled_prelude.h"
#include "autokernel/device/object_cache.h"

namespace ak::cpu {

enum class SandboxMode {
  kRequired,   ///< a compile without Landlock and seccomp is an error of the environment
  kUnsafeOff,  ///< --unsafe-no-sandbox; the binary says so
};

struct CpuCompilerOptions {
  std::string program;                       ///< see find_host_compiler
  std::filesystem::path cache;               ///< empty: cache_directory()
  std::vector<EmbeddedFile> device_headers;  ///< paths as in #include: "autokernel/device/reduce.cuh"
  std::vector<std::string> extra_flags;
  SandboxMode sandbox = SandboxMode::kRequired;
};

/// Safe to call from several threads.
class CpuCompiler final : public device::Compiler {
 public:
  /// Fails with kEnvironment when no compiler is found or the headers cannot be stored.
  static Result<std::unique_ptr<CpuCompiler>> create(CpuCompilerOptions options);

  /// A checked build needs g++: with clang++ it is an unsupported Failure.
  Result<device::CompileOutcome> compile(const Source& source) override;
  std::string description() const override { return compiler_.description; }

 private:
  CpuCompiler(CpuCompilerOptions options, HostCompiler compiler, HeaderStore headers,
              std::optional<device::ObjectCache> cache);

  struct Unit;  ///< a Source, ready for the host compiler
  Result<device::CompileOutcome> compile_unless_failed(const Source& source, const std::string& key);
  Result<device::CompileOutcome> compile_fresh(const Source& source);
  std::string key_of(const Source& source) const;
  std::vector<std::string> flags_of(const Unit& unit) const;
  std::vector<std::string> command(const Unit& unit);
  ProcessSpec process(std::vector<std::string> argv, const std::filesystem::path& folder) const;
  Result<device::CompileOutcome> run(const Source& source, const Unit& unit);
  Result<device::CompileOutcome> finish(const Source& source, std::string object, Binary binary) const;

  CpuCompilerOptions options_;
  HostCompiler compiler_;
  HeaderStore headers_;
  std::optional<device::ObjectCache> cache_;  ///< absent where its folder cannot be written
  PrecompiledPrelude prelude_;
  std::mutex mutex_;                       ///< of failed_
  std::map<std::string, Failure> failed_;  ///< failed compiles of this process, by key
};

}  // namespace ak::cpu
