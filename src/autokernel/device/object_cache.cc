#include "autokernel/device/object_cache.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"

namespace ak::device {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".object";
constexpr std::size_t kHashDigits = 32;
constexpr std::chrono::seconds kLongestCompile{60};  // of compilers; whoever takes longer is stopped or stuck

struct CachedFile {
  fs::path path;
  fs::file_time_type used;
  std::uint64_t bytes = 0;
};

/// Oldest use first. Files that vanish meanwhile belong to another process that trims.
std::vector<CachedFile> cached_files(const fs::path& folder) {
  std::vector<CachedFile> files;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    if (it->path().extension() != kExtension) continue;
    std::error_code gone;
    CachedFile file{it->path(), it->last_write_time(gone), 0};
    if (!gone) file.bytes = it->file_size(gone);
    if (!gone) files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const CachedFile& a, const CachedFile& b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  return files;
}

void trim(const fs::path& folder, std::uint64_t limit_bytes) {
  const std::vector<CachedFile> files = cached_files(folder);
  std::uint64_t total = 0;
  for (const CachedFile& file : files) total += file.bytes;
  for (const CachedFile& file : files) {
    if (total <= limit_bytes) break;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    total -= file.bytes;
  }
}

}  // namespace

Result<ObjectCache> ObjectCache::open(fs::path folder, std::uint64_t limit_bytes) {
  AK_TRY_VOID(ak::create_directories(folder));
  trim(folder, limit_bytes);
  return ObjectCache(std::move(folder));
}

std::string ObjectCache::key(const Source& source, std::string_view compiler) {
  return content_hash({hash(source), source.name, compiler});
}

fs::path ObjectCache::path_of(const std::string& key) const {
  return folder_ / (key + std::string(kExtension));
}

Result<CompileOutcome> ObjectCache::load_or_compile(
    const std::string& key, const std::function<Result<CompileOutcome>()>& compile) const {
  if (auto cached = load(key)) return CompileOutcome{std::move(cached), std::nullopt};
  const fs::path lock_path = folder_ / (key + ".lock");
  // Without the lock, as in a folder that cannot be written, the binary is only made more than once.
  const auto lock = FileLock::lock_within(lock_path, kLongestCompile);
  if (auto cached = load(key)) return CompileOutcome{std::move(cached), std::nullopt};
  AK_TRY(outcome, compile());
  if (outcome.binary) static_cast<void>(store(key, *outcome.binary).has_value());
  std::error_code ignored;
  if (lock && *lock) fs::remove(lock_path, ignored);
  return outcome;
}

std::optional<Binary> ObjectCache::load(const std::string& key) const {
  const auto text = read_file(path_of(key), 1ULL << 30);
  if (!text || text->size() <= kHashDigits) return std::nullopt;
  const std::string_view body = std::string_view(*text).substr(kHashDigits);
  if (content_hash(body) != text->substr(0, kHashDigits)) return std::nullopt;
  const auto json = parse_json(body, "object cache");
  if (!json) return std::nullopt;
  auto binary = binary_from_json(*json, "object cache");
  if (!binary) return std::nullopt;
  binary->from_cache = true;
  std::error_code ignored;
  fs::last_write_time(path_of(key), fs::file_time_type::clock::now(), ignored);
  return std::move(*binary);
}

Status ObjectCache::store(const std::string& key, const Binary& binary) const {
  const std::string body = to_json(binary).dump(-1, ' ', false, Json::error_handler_t::replace);
  return write_file_atomic(path_of(key), content_hash(body) + body);
}

}  // namespace ak::device
