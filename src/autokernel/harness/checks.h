#pragma once
// The checks of HARNESS.md by their ids. All are on; only the self-test makes a set with some switched off.

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::harness {

/// Every id that exists, in the order of the documentation.
std::span<const std::string_view> check_ids();

class CheckSet {
 public:
  static CheckSet all() { return CheckSet(); }
  /// For `selftest` alone; an unknown id is an error that lists them.
  static Result<CheckSet> without(const std::vector<std::string>& ids);
  bool on(std::string_view id) const { return !off_.contains(id); }
  bool complete() const { return off_.empty(); }

 private:
  std::set<std::string, std::less<>> off_;
};

}  // namespace ak::harness
