#pragma once
// Files: whole-file reads, atomic writes, temporary folders, locks, standard folders.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"
#include "autokernel/base/unique_fd.h"

namespace ak {

/// Fails on a missing file, a folder, or more than `max_bytes`.
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes = 64u << 20);

/// Temporary file in the same folder, fsync, rename, fsync of the folder: readers see the old or the new
/// content. On a full disk or a read-only folder the old file stays and the error says which.
Status write_file_atomic(const std::filesystem::path& path, std::string_view content);

/// Call it qualified (`ak::create_directories`): argument-dependent lookup also finds the one of
/// std::filesystem.
Status create_directories(const std::filesystem::path& path);

/// A folder under $TMPDIR or /tmp that is removed with the object. It is locked (flock(2)) meanwhile: what a
/// killed process left is removed when the next folder with the same prefix is created.
class TempDir {
 public:
  static Result<TempDir> create(std::string_view prefix);
  TempDir(TempDir&& other) noexcept;
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();
  const std::filesystem::path& path() const { return path_; }

 private:
  TempDir(std::filesystem::path path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  UniqueFd lock_;  ///< of the folder, where its file system has locks
};

/// An exclusive flock(2), released by the kernel when the process dies. `try_lock` fails with who holds it
/// (the holder's pid is written into the file).
class FileLock {
 public:
  static Result<FileLock> try_lock(const std::filesystem::path& path);
  /// Waits for its holder; nothing when that still holds it after `longest`.
  static Result<std::optional<FileLock>> lock_within(const std::filesystem::path& path,
                                                     std::chrono::milliseconds longest);
  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&&) noexcept = default;

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  static FileLock held(UniqueFd fd);
  UniqueFd fd_;
};

/// $AUTOKERNEL_CACHE, else $XDG_CACHE_HOME/autokernel, else ~/.cache/autokernel, else
/// $TMPDIR/autokernel-<uid>.
std::filesystem::path cache_directory();
/// The path of the running binary.
Result<std::filesystem::path> executable_path();
/// Looks a program up on PATH (or checks a path with a slash).
Result<std::filesystem::path> find_program(std::string_view name);

}  // namespace ak
