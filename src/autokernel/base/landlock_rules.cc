#include "autokernel/base/landlock_rules.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

namespace ak {
namespace {

// Newer than the kernel headers of Debian 12 (Linux 6.1).
constexpr std::uint64_t kTruncate = 1u << 14;              // ABI 3
constexpr std::uint64_t kIoctlDevice = 1u << 15;           // ABI 5
constexpr std::uint64_t kBindTcp = 1, kConnectTcp = 2;     // ABI 4
constexpr std::uint64_t kAbstractSocket = 1, kSignal = 2;  // ABI 6: scoped
struct RulesetAttributes {
  std::uint64_t handled_access_fs, handled_access_net, scoped;
};

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr std::uint64_t kReadFolder = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteFile =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDevice;
// No devices and no sockets are made in a sandbox, and nothing that it wrote is executed.
constexpr std::uint64_t kWriteFolder =
    kWriteFile | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_REFER;

std::uint64_t handled_by(int abi) {
  std::uint64_t rights = (std::uint64_t{1} << 13) - 1;  // ABI 1: EXECUTE to MAKE_SYM
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDevice;
  return rights;
}

/// A read-only path that is missing is skipped (not every system has /lib64); anything else is an error.
Status allow(int ruleset, const std::filesystem::path& path, std::uint64_t file, std::uint64_t folder) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT && folder == kReadFolder) return {};
  struct stat info{};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return environment_error("cannot open {} for the sandbox: {}", path.string(), std::strerror(errno));
  }
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(info.st_mode) ? folder : file;
  rule.parent_fd = fd.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return environment_error("cannot allow {} in the sandbox: {}", path.string(), std::strerror(errno));
  }
  return {};
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

Result<UniqueFd> make_landlock_ruleset(const Sandbox& sandbox, int abi) {
  RulesetAttributes attributes{handled_by(abi), 0, 0};
  if (abi >= 4 && sandbox.deny_network) attributes.handled_access_net = kBindTcp | kConnectTcp;
  if (abi >= 6 && sandbox.deny_network) attributes.scoped |= kAbstractSocket;
  if (abi >= 6 && sandbox.deny_process_control) attributes.scoped |= kSignal;
  // Older kernels take a longer structure as long as what they do not know is zero.
  const long fd = ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
  if (fd < 0) return environment_error("cannot create a Landlock ruleset: {}", std::strerror(errno));
  UniqueFd ruleset(static_cast<int>(fd));
  const std::uint64_t handled = attributes.handled_access_fs;
  for (const auto& path : sandbox.read_only) {
    AK_TRY_VOID(allow(ruleset.get(), path, kReadFile & handled, kReadFolder & handled));
  }
  for (const auto& path : sandbox.read_write) {
    AK_TRY_VOID(allow(ruleset.get(), path, kWriteFile & handled, kWriteFolder & handled));
  }
  return ruleset;
}

int enter_landlock(int ruleset_fd) noexcept {
  return ::syscall(SYS_landlock_restrict_self, ruleset_fd, 0) == 0 ? 0 : errno;
}

}  // namespace ak
