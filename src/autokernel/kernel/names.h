#pragma once
// The names that expressions of a kernel file may use, and their values but for tunables.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/core/device_info.h"
#include "autokernel/core/problem.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::kernel {

/// HAS_<TENSOR>, the tensor in capitals.
std::string has_name(std::string_view tensor);

/// Every name but the tunables', for one problem on one device. HAS_<TENSOR> is 1 for tensors of Problem::has
/// and 0 for every other (which optional tensors exist is the family's to say: check_against).
class Names {
 public:
  Names(const Problem& problem, const DeviceInfo& device);
  std::optional<std::int64_t> find(std::string_view name) const;
  std::vector<std::string> all() const;

 private:
  std::map<std::string, std::int64_t, std::less<>> values_;
};

/// The names of the device and the dtype, the same for every problem.
std::span<const std::string_view> builtin_names();

}  // namespace ak::kernel
