#include "autokernel/device/cpu/header_store.h"

#include <algorithm>
#include <map>

#include "autokernel/base/file.h"
#include "autokernel/base/hash.h"
#include "autokernel/device/cpu/rewrite.h"
#include "autokernel/embed/cpu_prelude.h"

namespace ak::cpu {
namespace {

constexpr std::string_view kDevicePrefix = "autokernel/device/";

struct StoredFile {
  std::string path;  ///< below the root
  std::string text;
};

std::string include_path(std::string_view path) {
  if (path.starts_with("autokernel/")) return std::string(path);
  if (path.starts_with("device/")) return "autokernel/" + std::string(path);
  return std::string(kDevicePrefix) + std::string(path);
}

/// `prelude/cuda_fp16.h.in` -> `cuda_fp16.h`. The files are no headers of this project's own (they would
/// shadow the host's), hence the suffix.
std::string prelude_name(std::string_view path) {
  if (path.starts_with("prelude/")) path.remove_prefix(8);
  if (path.ends_with(".in")) path.remove_suffix(3);
  return std::string(path);
}

/// Kernels include them by the full path or by the name behind autokernel/device/.
bool same_header(std::string_view header, std::string_view include) {
  return header == include || (header.size() > include.size() && header.ends_with(include) &&
                               header[header.size() - include.size() - 1] == '/');
}

Result<Rewritten> rewritten(const EmbeddedFile& file, SharedForm form) {
  RewriteOutcome outcome = rewrite(file.text, form);
  if (outcome.failure) {
    return internal_error("device header {}:{}: {}", file.path, outcome.failure->line,
                          outcome.failure->message);
  }
  return std::move(outcome.code);
}

Status write_all(const std::filesystem::path& root, const std::vector<StoredFile>& files) {
  for (const StoredFile& file : files) {
    const std::filesystem::path path = root / file.path;
    if (auto present = read_file(path); present && *present == file.text) continue;
    AK_TRY_VOID(ak::create_directories(path.parent_path()));
    AK_TRY_VOID(write_file_atomic(path, file.text));
  }
  return {};
}

/// Spreads `has_volatile` and the like along the includes, until nothing changes.
void close_over_includes(std::vector<DeviceHeader>& headers,
                         const std::vector<std::vector<std::string>>& includes) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < headers.size(); ++i) {
      const DeviceHeader before = headers[i];
      for (const DeviceHeader& other : headers) {
        const bool included =
            std::any_of(includes[i].begin(), includes[i].end(),
                        [&](const std::string& name) { return same_header(other.path, name); });
        if (!included) continue;
        headers[i].has_volatile = headers[i].has_volatile || other.has_volatile;
        headers[i].may_block = headers[i].may_block || other.may_block;
        headers[i].has_kernels = headers[i].has_kernels || other.has_kernels;
      }
      changed = changed || before.has_volatile != headers[i].has_volatile ||
                before.may_block != headers[i].may_block || before.has_kernels != headers[i].has_kernels;
    }
  }
}

}  // namespace

const DeviceHeader* HeaderStore::find(std::string_view include) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const DeviceHeader& header) {
    return same_header(header.path, include);
  });
  return found == headers.end() ? nullptr : &*found;
}

Result<HeaderStore> store_headers(const std::filesystem::path& cache,
                                  std::span<const EmbeddedFile> device_headers) {
  HeaderStore store;
  std::vector<StoredFile> files;
  for (const EmbeddedFile& file : embed::cpu_prelude()) {
    files.push_back({"prelude/" + prelude_name(file.path), std::string(file.text)});
  }
  std::vector<std::vector<std::string>> includes;
  for (const EmbeddedFile& file : device_headers) {
    AK_TRY(timed, rewritten(file, SharedForm::kDirect));
    AK_TRY(checked, rewritten(file, SharedForm::kReference));
    const std::string path = include_path(file.path);
    store.headers.push_back(
        {path, timed.has_volatile, timed.may_block, !timed.kernels.empty() || timed.kernels_from_macros});
    includes.push_back(timed.includes);
    files.push_back({"device/" + path, std::move(timed.text)});
    files.push_back({"device-checked/" + path, std::move(checked.text)});
  }
  close_over_includes(store.headers, includes);
  std::string all;
  for (const StoredFile& file : files) all += content_hash({file.path, file.text});
  store.hash = content_hash(all);
  store.root = cache / "prelude" / store.hash;
  store.prelude = store.root / "prelude";
  store.device = store.root / "device";
  store.device_checked = store.root / "device-checked";
  if (auto written = write_all(store.root, files); !written) {
    return tl::unexpected(std::move(written).error().with_context("cannot store the device headers"));
  }
  AK_TRY_VOID(ak::create_directories(store.device));
  AK_TRY_VOID(ak::create_directories(store.device_checked));
  return store;
}

}  // namespace ak::cpu
