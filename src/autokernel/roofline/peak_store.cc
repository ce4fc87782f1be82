#include "autokernel/roofline/peak_store.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"

namespace ak::roofline {
namespace {

Result<Peaks> read_peaks(const std::filesystem::path& path, std::string_view device_uuid) {
  AK_TRY(text, read_file(path, 1u << 20));
  AK_TRY(json, parse_json(text, path.string()));
  AK_TRY(peaks, peaks_from_json(json, path.string()));
  if (peaks.device_uuid != device_uuid) {
    return usage_error("{}: holds the peaks of device '{}'", path.string(), peaks.device_uuid);
  }
  return peaks;
}

}  // namespace

PeakStore::PeakStore(std::filesystem::path folder, Log& log) : folder_(std::move(folder)), log_(&log) {}

std::filesystem::path PeakStore::path(std::string_view device_uuid) const {
  // A uuid comes from a worker and may hold anything, a slash included: hashed, it is a safe file name.
  return folder_ / (content_hash(device_uuid) + ".json");
}

std::optional<Peaks> PeakStore::load(std::string_view device_uuid) const {
  const std::filesystem::path file = path(device_uuid);
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(file, ignored))) return std::nullopt;
  auto peaks = read_peaks(file, device_uuid);
  if (peaks) return std::move(*peaks);
  log_->warning("stored peaks cannot be used and will be measured again: {}", peaks.error().message);
  return std::nullopt;
}

Status PeakStore::save(const Peaks& peaks) const {
  AK_TRY_VOID(ak::create_directories(folder_));
  return write_file_atomic(path(peaks.device_uuid), to_json(peaks).dump(2) + "\n");
}

}  // namespace ak::roofline
