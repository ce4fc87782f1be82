#include "autokernel/kernel/names.h"

namespace ak::kernel {
namespace {

constexpr std::string_view kBuiltins[] = {"elem_bytes", "warp_size", "max_threads", "max_shared_bytes",
                                          "multiprocessors"};

}  // namespace

std::string has_name(std::string_view tensor) {
  std::string name = "HAS_";
  for (const char c : tensor) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::span<const std::string_view> builtin_names() { return kBuiltins; }

Names::Names(const Problem& problem, const DeviceInfo& device) {
  values_.insert(problem.dims.begin(), problem.dims.end());
  values_.insert(problem.flags.begin(), problem.flags.end());
  for (const std::string& tensor : problem.has) values_[has_name(tensor)] = 1;
  values_["elem_bytes"] = static_cast<std::int64_t>(size_bytes(problem.dtype));
  values_["warp_size"] = device.warp_size;
  values_["max_threads"] = device.max_threads_per_block;
  values_["max_shared_bytes"] = device.dynamic_shared_bytes;
  values_["multiprocessors"] = device.multiprocessors;
}

std::optional<std::int64_t> Names::find(std::string_view name) const {
  if (const auto found = values_.find(name); found != values_.end()) return found->second;
  if (name.starts_with("HAS_")) return 0;
  return std::nullopt;
}

std::vector<std::string> Names::all() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

}  // namespace ak::kernel
