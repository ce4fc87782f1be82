#pragma once
// The host's C++ compiler: which one, what it calls itself, and how a module is built with it.

#include <filesystem>
#include <string>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"

namespace ak::cpu {

struct HostCompiler {
  enum class Family { kGcc, kClang };
  std::filesystem::path program;
  Family family = Family::kGcc;
  std::string description;  ///< "g++ 12.2.0"
  std::string identity;     ///< everything that decides its output but the flags: version, target, processor

  /// What a sandboxed compile must be able to read.
  std::vector<std::filesystem::path> readable() const;
};

/// `program`: a name or path; empty: $AUTOKERNEL_CXX, else g++, else clang++ on PATH. Wrappers of ccache are
/// passed over: they would need the user's folders. Fails with kEnvironment and the remedy when there is
/// none.
Result<HostCompiler> find_host_compiler(const std::string& program);

/// How much of a kernel may be assumed: the loop over threads, or switching between them.
enum class ThreadForm {
  kPlainLoop,   ///< nothing suspends a thread: AkEntry::block vectorises
  kIndexLoop,   ///< likewise, and the kernel computes blockIdx.x * blockDim.x + threadIdx.x
  kSuspending,  ///< barriers, warp functions, atomics
  kSpinning,    ///< reads volatile data: every basic block may yield
};

/// Everything but include paths and the link.
std::vector<std::string> compile_flags(const HostCompiler& compiler, Build build, ThreadForm form);
std::vector<std::string> link_flags();

}  // namespace ak::cpu
