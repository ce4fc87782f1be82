#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "autokernel/base/file.h"

namespace ak {
namespace {

constexpr std::chrono::milliseconds kLook{2};

/// The pid that the holder wrote, or "another process" (it may not have written yet).
std::string holder_of(int fd) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  std::string digits;
  for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; ++i) digits += text[i];
  return digits.empty() ? "another process" : "process " + digits;
}

Result<UniqueFd> open_lock(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid())
    return environment_error("cannot open the lock {}: {}", path.string(), std::strerror(errno));
  return fd;
}

/// False where another holds it.
Result<bool> flock_now(const UniqueFd& fd, const std::filesystem::path& path) {
  int locked = 0;
  do {
    locked = ::flock(fd.get(), LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return environment_error("cannot lock {}: {}", path.string(), std::strerror(errno));
}

}  // namespace

Result<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  AK_TRY(fd, open_lock(path));
  AK_TRY(locked, flock_now(fd, path));
  if (!locked) {
    return environment_error("{} is held by {}: wait until it ends, or stop it", path.string(),
                             holder_of(fd.get()));
  }
  return held(std::move(fd));
}

Result<std::optional<FileLock>> FileLock::lock_within(const std::filesystem::path& path,
                                                      std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  AK_TRY(fd, open_lock(path));
  while (true) {
    AK_TRY(locked, flock_now(fd, path));
    if (locked) return std::optional(held(std::move(fd)));
    if (std::chrono::steady_clock::now() >= end) return std::optional<FileLock>();
    std::this_thread::sleep_for(kLook);
  }
}

FileLock FileLock::held(UniqueFd fd) {
  // The pid only serves try_lock's message: the lock holds without it (e.g. on a full disk).
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(fd.get(), pid.data(), pid.size(), 0);
  }
  return FileLock(std::move(fd));
}

}  // namespace ak
