#include "autokernel/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>

#include "autokernel/base/random.h"

namespace ak {
namespace fs = std::filesystem;
namespace {

/// The reason in words that say what to do.
std::string reason(int error) {
  switch (error) {
    case ENOSPC:
      return "the disk is full";
    case EDQUOT:
      return "the disk quota is used up";
    case EFBIG:
      return "the file size limit is reached (ulimit -f)";
    case EROFS:
      return "the file system is read-only";
    case EACCES:
    case EPERM:
      return "permission denied (the file or its folder is not yours to change)";
    default:
      return std::strerror(error);
  }
}

tl::unexpected<Error> cannot(std::string_view verb, const fs::path& path, int error) {
  return environment_error("cannot {} {}: {}", verb, path.string(), reason(error));
}

/// 0 or an errno.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// A new file beside the target, made with the user's umask (mkstemp would make it 0600).
UniqueFd create_beside(const fs::path& target, fs::path& temporary) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    temporary =
        target.parent_path() / fmt::format(".{}.{:016x}.tmp", target.filename().string(), secret_seed());
    UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (fd.valid() || errno != EEXIST) return fd;
  }
  errno = EEXIST;
  return UniqueFd();
}

Status write_device(const fs::path& path, std::string_view content) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return cannot("write", path, errno);
  if (const int error = write_all(fd.get(), content); error != 0) return cannot("write", path, error);
  return {};
}

Status fill_and_rename(UniqueFd fd, const fs::path& temporary, const fs::path& target,
                       std::string_view content) {
  if (const int error = write_all(fd.get(), content); error != 0) return cannot("write", target, error);
  struct stat old{};
  // The mode of the file that is replaced is kept as far as it can be.
  if (::stat(target.c_str(), &old) == 0 && ::fchmod(fd.get(), old.st_mode & 07777) != 0) {
    return cannot("set the mode of", temporary, errno);
  }
  if (::fsync(fd.get()) != 0) return cannot("write", target, errno);
  if (::close(fd.release()) != 0) return cannot("write", target, errno);
  if (::rename(temporary.c_str(), target.c_str()) != 0) return cannot("replace", target, errno);
  return {};
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

fs::path temporary_root() {
  const std::string_view root = variable("TMPDIR");
  return root.empty() ? fs::path("/tmp") : fs::path(root);
}

bool is_program(const fs::path& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

UniqueFd open_folder(const fs::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool lock_now(const UniqueFd& folder) { return ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0; }

/// `prefix` with what mkdtemp(3) puts behind it.
bool is_temporary_name(std::string_view name, std::string_view prefix) {
  constexpr std::size_t kRandom = 6;
  if (name.size() != prefix.size() + 1 + kRandom || !name.starts_with(prefix) || name[prefix.size()] != '-')
    return false;
  const std::string_view random = name.substr(prefix.size() + 1);
  return std::all_of(random.begin(), random.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

/// Ours, and so old that its owner has locked it if it lives.
bool is_old(const UniqueFd& folder) {
  constexpr std::time_t kYoungest = 60;
  struct stat info{};
  return ::fstat(folder.get(), &info) == 0 && info.st_uid == ::geteuid() &&
         std::time(nullptr) - info.st_mtime > kYoungest;
}

/// Folders of processes that were killed. Young ones are not even locked: their owners are about to.
void remove_abandoned(std::string_view prefix) {
  std::error_code ignored;
  for (fs::directory_iterator each(temporary_root(), ignored), end; !ignored && each != end;
       each.increment(ignored)) {
    if (!is_temporary_name(each->path().filename().string(), prefix)) continue;
    const UniqueFd folder = open_folder(each->path());
    if (!folder.valid() || !is_old(folder) || !lock_now(folder)) continue;
    std::error_code kept;
    fs::remove_all(each->path(), kept);
  }
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::uint64_t max_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return cannot("read", path, errno);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return cannot("read", path, errno);
  if (S_ISDIR(info.st_mode)) return environment_error("cannot read {}: it is a folder", path.string());
  const auto too_large = [&] {
    return environment_error("cannot read {}: it is larger than {} bytes", path.string(), max_bytes);
  };
  const auto expected = static_cast<std::uint64_t>(info.st_size);
  if (expected > max_bytes) return too_large();
  std::string content;
  // Files of /proc and pipes have the size 0; a file may also grow while it is read.
  std::size_t used = 0;
  for (;;) {
    if (used == content.size()) content.resize(used == 0 ? expected + 1 : used + used / 2 + 4096);
    const ssize_t got = ::read(fd.get(), content.data() + used, content.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot("read", path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > max_bytes) return too_large();
  }
  content.resize(used);
  return content;
}

Status write_file_atomic(const fs::path& path, std::string_view content) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return environment_error("cannot write {}: it is a folder", path.string());
  // A device or a pipe (/dev/stdout) cannot be replaced.
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_device(path, content);
  // The file that a link points to is replaced, not the link.
  fs::path target =
      fs::is_symlink(fs::symlink_status(path, error)) ? fs::weakly_canonical(path, error) : path;
  if (target.parent_path().empty()) target = "." / target;
  fs::path temporary;
  UniqueFd fd = create_beside(target, temporary);
  if (!fd.valid()) return cannot("write", target, errno);
  if (Status done = fill_and_rename(std::move(fd), temporary, target, content); !done) {
    ::unlink(temporary.c_str());
    return done;
  }
  // The rename itself survives a power cut only when the folder is on disk too.
  UniqueFd folder(::open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder (EINVAL); the content is safe there all the same.
  if (folder.valid() && ::fsync(folder.get()) != 0 && errno != EINVAL) return cannot("write", target, errno);
  return {};
}

Status create_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return cannot("create the folder", path, error.value());
  if (!fs::is_directory(path, error)) {
    return environment_error("cannot create the folder {}: a file is in the way", path.string());
  }
  return {};
}

Result<TempDir> TempDir::create(std::string_view prefix) {
  remove_abandoned(prefix);
  std::string path = (temporary_root() / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(path.data()) == nullptr) return cannot("create the temporary folder", path, errno);
  UniqueFd lock = open_folder(path);
  if (lock.valid() && !lock_now(lock)) lock.reset();  // a file system without locks: nothing is removed there
  return TempDir(fs::path(std::move(path)), std::move(lock));
}

TempDir::TempDir(TempDir&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a destructor checks nothing; what is left lies in the temporary folder
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

fs::path cache_directory() {
  if (const auto chosen = variable("AUTOKERNEL_CACHE"); !chosen.empty()) return chosen;
  // The XDG specification: a relative path is invalid and ignored.
  if (const auto cache = variable("XDG_CACHE_HOME"); cache.starts_with('/'))
    return fs::path(cache) / "autokernel";
  if (const auto home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache" / "autokernel";
  return temporary_root() / fmt::format("autokernel-{}", ::getuid());
}

Result<fs::path> executable_path() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) return cannot("find the running program through", "/proc/self/exe", error.value());
  return path;
}

Result<fs::path> find_program(std::string_view name) {
  std::error_code ignored;
  if (name.find('/') != std::string_view::npos) {
    if (!is_program(name)) return environment_error("{} is not a program that can be run", name);
    return fs::absolute(name, ignored);
  }
  std::string_view path = variable("PATH");
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  for (std::string_view rest = path; !name.empty() && !rest.empty();) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    // An empty element would mean the current folder, where anything may lie.
    if (folder.empty()) continue;
    if (fs::path candidate = fs::path(folder) / name; is_program(candidate))
      return fs::absolute(candidate, ignored);
  }
  return environment_error("cannot find the program '{}' on PATH ({}): install it or extend PATH", name,
                           path);
}

}  // namespace ak
