#include "autokernel/device/cpu/precompiled_prelude.h"

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"

namespace ak::cpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "ak_prelude.h.gch";
constexpr std::uint64_t kMostBytes = 256u << 20;

bool is_intact(const fs::path& folder) {
  const auto hash = read_file(folder / "hash");
  const auto content = hash ? read_file(folder / kFile, kMostBytes) : Result<std::string>();
  return hash && content && content_hash(*content) == *hash;
}

Status make(const fs::path& folder, const std::vector<std::string>& flags,
            const PrecompiledPrelude::Build& build) {
  AK_TRY_VOID(ak::create_directories(folder));
  AK_TRY(lock, FileLock::try_lock(folder / "lock"));
  if (is_intact(folder)) return {};  // made meanwhile
  AK_TRY(work, TempDir::create("autokernel-prelude"));
  AK_TRY_VOID(build(flags, work.path() / kFile));
  AK_TRY(content, read_file(work.path() / kFile, kMostBytes));
  AK_TRY_VOID(write_file_atomic(folder / kFile, content));
  return write_file_atomic(folder / "hash", content_hash(content));
}

}  // namespace

std::optional<fs::path> PrecompiledPrelude::folder(const std::vector<std::string>& flags,
                                                   const Build& build) {
  std::string what = identity_;
  for (const std::string& flag : flags) what += "\n" + flag;
  const std::string name = content_hash(what);
  const fs::path folder = root_ / name;
  const std::lock_guard lock(mutex_);
  const auto known = usable_.find(name);
  const bool usable =
      known != usable_.end() ? known->second : is_intact(folder) || make(folder, flags, build).has_value();
  usable_[name] = usable;  // a failure is remembered too: it costs as much as what it saves
  if (!usable) return std::nullopt;
  return folder;
}

}  // namespace ak::cpu
