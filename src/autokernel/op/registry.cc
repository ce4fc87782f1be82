#include <algorithm>
#include <filesystem>

#include "autokernel/base/file.h"
#include "autokernel/embed/ops.h"
#include "autokernel/op/op_family.h"
#include "autokernel/op/toml_table.h"

namespace ak::op {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = 4u << 20;
constexpr std::size_t kMaxKernels = 256;

struct FolderFiles {
  std::vector<std::string> paths, texts;
};

/// The files of a family; others in the folder are not looked at.
Result<FolderFiles> read_folder(const fs::path& folder) {
  std::vector<std::string> paths;
  for (const char* name : {"op.toml", "reference.cu", "playbook.md", "torch.py"}) {
    std::error_code error;
    if (fs::exists(folder / name, error)) paths.emplace_back(name);
  }
  std::error_code error;
  for (fs::directory_iterator it(folder / "kernels", error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".cu") paths.push_back("kernels/" + it->path().filename().string());
  }
  if (paths.size() > kMaxKernels)
    return usage_error("{}: more than {} kernels", folder.string(), kMaxKernels);
  std::sort(paths.begin(), paths.end());
  FolderFiles files;
  for (std::string& path : paths) {
    AK_TRY(text, read_file(folder / path, kMaxFileBytes));
    files.paths.push_back(std::move(path));
    files.texts.push_back(std::move(text));
  }
  return files;
}

Result<Family> load_folder(const fs::path& folder) {
  AK_TRY(files, read_folder(folder));
  std::vector<EmbeddedFile> views;
  for (std::size_t i = 0; i < files.paths.size(); ++i) views.push_back({files.paths[i], files.texts[i]});
  fs::path named = fs::absolute(folder).lexically_normal();
  if (named.filename().empty()) named = named.parent_path();  // "my_op/"
  Result<Family> family = load_family(named.filename().string(), views);
  if (!family) return tl::unexpected(std::move(family).error().with_context(folder.string()));
  return family;
}

/// The families of one folder: itself, or those in it, sorted by name.
Result<std::vector<fs::path>> find_families(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return usage_error("--ops {}: no such folder", folder.string());
  if (fs::exists(folder / "op.toml", error)) return std::vector<fs::path>{folder};
  std::vector<fs::path> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (fs::exists(it->path() / "op.toml", ignored)) found.push_back(it->path());
  }
  if (error) return environment_error("--ops {}: {}", folder.string(), error.message());
  if (found.empty())
    return usage_error("--ops {}: neither it nor a folder in it has an op.toml", folder.string());
  std::sort(found.begin(), found.end());
  return found;
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.find('/')); }

}  // namespace

std::span<const EmbeddedFile> embedded_families() { return embed::ops(); }

Result<Registry> Registry::create(std::span<const EmbeddedFile> embedded,
                                  const std::vector<std::string>& folders) {
  Registry registry;
  const auto has = [&](std::string_view name) {
    return std::any_of(registry.families_.begin(), registry.families_.end(),
                       [&](const Family& family) { return family.name == name; });
  };
  for (const std::string& folder : folders) {
    AK_TRY(paths, find_families(folder));
    for (const fs::path& path : paths) {
      AK_TRY(family, load_folder(path));
      family.origin = Family::Origin::kFolder;
      if (has(family.name)) return usage_error("--ops {}: a second family `{}`", folder, family.name);
      registry.families_.push_back(std::move(family));
    }
  }
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded) names.emplace_back(folder_of(file.path));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    if (has(name)) continue;  // the user's comes first
    std::vector<EmbeddedFile> files;
    for (const EmbeddedFile& file : embedded) {
      if (folder_of(file.path) == name) files.push_back(file);
    }
    AK_TRY(family, load_family(name, files));
    registry.families_.push_back(std::move(family));
  }
  return registry;
}

Result<const Family*> Registry::find(std::string_view name) const {
  std::vector<std::string> names;
  for (const Family& family : families_) {
    if (family.name == name) return &family;
    names.push_back(family.name);
  }
  return usage_error("no op family `{}`: expected one of {} (or a folder given with --ops)", name,
                     joined(names));
}

}  // namespace ak::op
