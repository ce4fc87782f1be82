#include "autokernel/device/cuda/nvrtc_location.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "autokernel/base/file.h"
#include "autokernel/base/subprocess.h"

namespace ak::cuda {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestMajor = 12;

std::vector<fs::path> children(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored))
    found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

/// The number at the front, which is taken off together with one dot behind it.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) text.remove_prefix(1);
  return value;
}

struct Version {
  int major = 0, minor = 0;
  auto operator<=>(const Version&) const = default;
};

/// `libnvrtc.so.13` with the prefix `libnvrtc.so.` is 13.0.
std::optional<Version> version_of(const fs::path& file, std::string_view prefix) {
  const std::string name = file.filename().string();
  std::string_view rest = name;
  if (!rest.starts_with(prefix)) return std::nullopt;
  rest.remove_prefix(prefix.size());
  const auto major = take_number(rest);
  if (!major) return std::nullopt;
  return Version{*major, take_number(rest).value_or(0)};
}

/// The headers that belong to a library folder: a toolkit's, a distribution's, or those of the wheels.
std::vector<fs::path> include_folders(const fs::path& folder) {
  const fs::path candidates[] = {folder / "../include", folder / "../../include",
                                 folder / "../../../targets/x86_64-linux/include",
                                 folder / "../../cuda_runtime/include"};
  std::error_code ignored;
  for (const fs::path& candidate : candidates) {
    if (!fs::is_regular_file(candidate / "cuda_fp16.h", ignored)) continue;
    std::vector<fs::path> found{fs::canonical(candidate, ignored)};
    if (ignored) found.front() = candidate.lexically_normal();
    if (fs::is_directory(found.front() / "cccl", ignored)) found.push_back(found.front() / "cccl");
    return found;
  }
  return {};
}

class Finder {
 public:
  explicit Finder(const NvrtcSearch& search) : search_(search) {}

  Result<NvrtcLocation> find() {
    for (const fs::path& folder : folders()) {
      std::error_code ignored;
      fs::path real = fs::canonical(folder, ignored);
      if (ignored) real = folder;
      if (!seen_.insert(real).second) continue;
      if (auto location = look_into(folder)) return std::move(*location);
    }
    return environment_error(
        "cannot find NVRTC {} or newer: CUDA_HOME is {}; looked in {}: install the CUDA toolkit or the NVRTC "
        "wheel of "
        "its Python packages, or set CUDA_HOME, or run autokernel doctor",
        kOldestMajor, search_.cuda_home.empty() ? "not set" : search_.cuda_home,
        searched_.empty() ? "no folder" : searched_);
  }

 private:
  std::vector<fs::path> folders() const {
    std::vector<fs::path> list;
    for (const std::string& root : {search_.cuda_home, search_.cuda_path}) {
      if (!root.empty()) add_toolkit(list, root);
    }
    add_wheels(list);
    list.insert(list.end(), search_.library_path.begin(), search_.library_path.end());
    add_toolkit(list, search_.toolkits / "cuda");
    std::vector<fs::path> versions = children(search_.toolkits);
    std::reverse(versions.begin(), versions.end());
    for (const fs::path& root : versions) {
      if (root.filename().string().starts_with("cuda-")) add_toolkit(list, root);
    }
    list.insert(list.end(), search_.system_folders.begin(), search_.system_folders.end());
    return list;
  }

  static void add_toolkit(std::vector<fs::path>& list, const fs::path& root) {
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) {
      list.push_back(root / folder);
    }
  }

  void add_wheels(std::vector<fs::path>& list) const {
    const fs::path& root = search_.python_environment;
    if (root.empty()) return;
    std::vector<fs::path> packages{root};
    for (const fs::path& version : children(root / "lib")) {
      if (version.filename().string().starts_with("python3")) packages.push_back(version / "site-packages");
    }
    for (const fs::path& folder : packages) {
      for (const char* wheel : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}) list.push_back(folder / wheel);
    }
  }

  void note(const fs::path& folder, std::string_view why) {
    if (!searched_.empty()) searched_ += ", ";
    searched_ += fmt::format("{} ({})", folder.string(), why);
  }

  std::optional<NvrtcLocation> look_into(const fs::path& folder) {
    std::optional<std::pair<Version, fs::path>> library, builtins;
    const std::vector<fs::path> files = children(folder);
    for (const fs::path& file : files) {
      const auto version = version_of(file, "libnvrtc.so.");
      if (version && (!library || library->first.major < version->major)) library.emplace(*version, file);
    }
    if (!library) {
      note(folder, files.empty() ? "no such folder, or empty" : "no libnvrtc.so.*");
      return std::nullopt;
    }
    if (library->first.major < kOldestMajor) {
      note(folder, fmt::format("NVRTC {} is too old", library->first.major));
      return std::nullopt;
    }
    for (const fs::path& file : files) {
      const auto version = version_of(file, "libnvrtc-builtins.so.");
      if (!version || version->major != library->first.major) continue;
      if (!builtins || builtins->first < *version) builtins.emplace(*version, file);
    }
    if (!builtins) {
      note(folder, "no libnvrtc-builtins of the same version");
      return std::nullopt;
    }
    return NvrtcLocation{library->second, builtins->second, include_folders(folder), builtins->first.major,
                         builtins->first.minor};
  }

  const NvrtcSearch& search_;
  std::set<fs::path> seen_;
  std::string searched_;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<fs::path> split_path(std::string_view text) {
  std::vector<fs::path> folders;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end != 0) folders.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folders;
}

/// Folders of the linker's cache that hold a libnvrtc, then the usual ones.
std::vector<fs::path> linker_folders() {
  std::vector<fs::path> folders;
  const auto listed = run_process({.argv = {"/sbin/ldconfig", "-p"}, .deadline = std::chrono::seconds(5)});
  std::string_view text = listed ? std::string_view(listed->out) : std::string_view();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t arrow = line.find("=> ");
    if (line.find("libnvrtc.so.") == std::string_view::npos || arrow == std::string_view::npos) continue;
    folders.push_back(fs::path(line.substr(arrow + 3)).parent_path());
  }
  for (const char* usual :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
    folders.emplace_back(usual);
  }
  return folders;
}

}  // namespace

NvrtcSearch NvrtcSearch::from_environment() {
  NvrtcSearch search;
  search.cuda_home = variable("CUDA_HOME");
  search.cuda_path = variable("CUDA_PATH");
  search.python_environment = variable("VIRTUAL_ENV");
  if (search.python_environment.empty()) {  // <environment>/bin/python3, a link that is not followed
    if (auto python = find_program("python3"))
      search.python_environment = python->parent_path().parent_path();
  }
  search.library_path = split_path(variable("LD_LIBRARY_PATH"));
  search.system_folders = linker_folders();
  return search;
}

Result<NvrtcLocation> find_nvrtc(const NvrtcSearch& search) { return Finder(search).find(); }

}  // namespace ak::cuda
