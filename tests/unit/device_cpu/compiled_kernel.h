#pragma once
// Test helper: compiles kernels with CpuCompiler and runs one block of them in this process.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/file.h"
#include "autokernel/core/binary.h"
#include "autokernel/device/cpu/abi.h"
#include "autokernel/device/cpu/cpu_compiler.h"

namespace ak::cpu {

/// A compiler; all tests of the program share its cache (and the precompiled prelude in it).
class CompilerFixture : public testing::Test {
 protected:
  CompilerFixture();
  static Source source(std::string_view text, std::vector<std::string> entries = {"k"});
  /// The binary; a test failure and nothing when it does not compile.
  std::optional<Binary> binary(const Source& source);
  /// The failure; a test failure when it compiles.
  Failure failure(const Source& source);

  std::filesystem::path folder_;  ///< the cache
  CpuCompiler* compiler_ = nullptr;
};

/// A loaded module.
class LoadedModule {
 public:
  explicit LoadedModule(const Binary& binary);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;

  const AkModule& module() const { return *module_; }
  /// One block as a loop over its threads.
  void run_block(std::size_t entry, std::vector<void*> params, AkDim3 block,
                 AkDim3 block_index = {0, 0, 0}) const;
  /// One block with an OS thread for each thread: for kernels that only exchange values.
  void run_threads(std::size_t entry, std::vector<void*> params, unsigned threads) const;

 private:
  void* handle_ = nullptr;
  const AkModule* module_ = nullptr;
};

}  // namespace ak::cpu
