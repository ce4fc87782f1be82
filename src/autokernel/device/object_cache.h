#pragma once
// Compiled binaries by content: a second compile of the same source, by the same compiler, is one file read.
// Shared by every compiler adapter and by concurrent processes (files are replaced atomically, damaged ones
// are ignored).
//
//   AK_TRY(cache, ObjectCache::open(cache_directory() / "objects"));
//   return cache.load_or_compile(ObjectCache::key(source, compiler.description()), [&] { return
//   compile(source); });

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"
#include "autokernel/device/compiler.h"

namespace ak::device {

class ObjectCache {
 public:
  static constexpr std::uint64_t kDefaultLimitBytes = 1ULL << 30;

  /// Creates the folder; removes the binaries that were not used for longest while there are more than
  /// `limit_bytes`.
  static Result<ObjectCache> open(std::filesystem::path folder,
                                  std::uint64_t limit_bytes = kDefaultLimitBytes);

  /// `compiler` names everything beside the source that decides the bits: version, options, headers.
  static std::string key(const Source& source, std::string_view compiler);

  /// What is cached, or what `compile` makes, which is stored. Of processes that want the same binary one
  /// compiles and the others wait for it. A cache that cannot be written costs time only.
  Result<CompileOutcome> load_or_compile(const std::string& key,
                                         const std::function<Result<CompileOutcome>()>& compile) const;

  /// The binary, `from_cache` set; nothing when it is absent or damaged.
  std::optional<Binary> load(const std::string& key) const;

  /// A full disk or a read-only folder is an error that the caller may ignore: only time is lost.
  Status store(const std::string& key, const Binary& binary) const;

 private:
  explicit ObjectCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path path_of(const std::string& key) const;
  std::filesystem::path folder_;
};

}  // namespace ak::device
