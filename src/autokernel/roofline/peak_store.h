#pragma once
// Measured peaks on disk, one file per device, so that a device is measured once and not once per run.

#include <filesystem>
#include <optional>
#include <string_view>

#include "autokernel/base/log.h"
#include "autokernel/base/result.h"
#include "autokernel/roofline/peaks.h"

namespace ak::roofline {

class PeakStore {
 public:
  /// Files go to `folder` (made on the first save), one for each uuid. The log must outlive the store.
  PeakStore(std::filesystem::path folder, Log& log);

  /// nullopt: never measured, or what is stored cannot be used (a warning says why): measure again.
  std::optional<Peaks> load(std::string_view device_uuid) const;
  /// Replaces the file of peaks.device_uuid; readers see the old or the new one.
  Status save(const Peaks& peaks) const;

  std::filesystem::path path(std::string_view device_uuid) const;

 private:
  std::filesystem::path folder_;
  Log* log_;
};

}  // namespace ak::roofline
