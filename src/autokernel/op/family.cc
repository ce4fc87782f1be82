#include <algorithm>

#include "autokernel/base/hash.h"
#include "autokernel/op/family_parser.h"
#include "autokernel/op/op_family.h"

namespace ak::op {
namespace {

/// The path of a file inside the family's folder.
std::string_view inner_path(std::string_view path, std::string_view family) {
  if (path.starts_with(family) && path.substr(family.size()).starts_with("/"))
    path.remove_prefix(family.size() + 1);
  return path;
}

bool is_starter(const KernelSource& kernel) { return kernel.name.ends_with("/starter.cu"); }

template <class T>
const T* find_named(const std::vector<T>& items, std::string_view name) {
  const auto it = std::find_if(items.begin(), items.end(), [&](const T& item) { return item.name == name; });
  return it == items.end() ? nullptr : &*it;
}

bool is_present(const TensorSpec& tensor, const Problem& problem) {
  if (tensor.optional) return problem.has_tensor(tensor.name);
  return tensor.with.empty() || problem.has_tensor(tensor.with);
}

}  // namespace

const TensorSpec* Family::tensor(std::string_view tensor_name) const {
  return find_named(tensors, tensor_name);
}
const FlagSpec* Family::flag(std::string_view flag_name) const { return find_named(flags, flag_name); }
const ScalarSpec* Family::scalar(std::string_view scalar_name) const {
  return find_named(scalars, scalar_name);
}

std::vector<const TensorSpec*> Family::inputs(const Problem& problem) const {
  std::vector<const TensorSpec*> found;
  for (const TensorSpec& each : tensors) {
    if (each.role != TensorRole::kOut && is_present(each, problem)) found.push_back(&each);
  }
  return found;
}

std::vector<const TensorSpec*> Family::outputs(const Problem& problem) const {
  std::vector<const TensorSpec*> found;
  for (const TensorSpec& each : tensors) {
    if (each.role != TensorRole::kIn && is_present(each, problem)) found.push_back(&each);
  }
  return found;
}

Result<Family> load_family(std::string_view name, std::span<const EmbeddedFile> files) {
  const auto find = [&](std::string_view path) {
    return std::find_if(files.begin(), files.end(),
                        [&](const EmbeddedFile& file) { return inner_path(file.path, name) == path; });
  };
  const auto definition = find("op.toml");
  if (definition == files.end()) return usage_error("{}/op.toml is missing", name);
  const auto reference = find("reference.cu");
  if (reference == files.end()) return usage_error("{}/reference.cu is missing", name);
  AK_TRY(document, parse_toml(definition->text, {.name = fmt::format("{}/op.toml", name), .first_line = 1}));
  AK_TRY(family, FamilyParser(std::move(document), name).parse());
  family.hash = content_hash({definition->text, reference->text});
  family.reference = reference->text;
  for (const EmbeddedFile& file : files) {
    const std::string_view path = inner_path(file.path, name);
    family.files.emplace(path, file.text);
    if (path.starts_with("kernels/") && path.ends_with(".cu")) {
      family.kernels.push_back({fmt::format("{}/{}", name, path), std::string(file.text)});
    } else if (path == "playbook.md") {
      family.playbook = file.text;
    } else if (path == "torch.py") {
      family.torch_module = file.text;
    }
  }
  std::sort(family.kernels.begin(), family.kernels.end(), [](const KernelSource& a, const KernelSource& b) {
    return is_starter(a) != is_starter(b) ? is_starter(a) : a.name < b.name;
  });
  return family;
}

}  // namespace ak::op
