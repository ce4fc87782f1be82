#pragma once
// The prelude, parsed once: g++ reads a precompiled header in 10 ms where parsing takes 100 ms, half of a
// compile. Only ever a saving of time: without it, or when g++ does not like it, the headers are parsed.

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::cpu {

class PrecompiledPrelude {
 public:
  /// Compiles the prelude with the given flags into the file at the given path.
  using Build =
      std::function<Status(const std::vector<std::string>& flags, const std::filesystem::path& output)>;

  /// Keeps one folder per set of flags under `root`. `identity` names the compiler.
  PrecompiledPrelude(std::filesystem::path root, std::string identity)
      : root_(std::move(root)), identity_(std::move(identity)) {}

  /// The folder to put in front of the include path, made on first use; nullopt when it cannot be made or
  /// another process is just making it. Safe to call from several threads and processes.
  std::optional<std::filesystem::path> folder(const std::vector<std::string>& flags, const Build& build);

 private:
  std::filesystem::path root_;
  std::string identity_;
  std::mutex mutex_;
  std::map<std::string, bool> usable_;  ///< by folder name: checked by this process
};

}  // namespace ak::cpu
