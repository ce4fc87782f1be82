#pragma once
// A problem: an op family with concrete dims, flags, dtype and strides, e.g. rmsnorm M=4096 N=4096 bf16.
// A target: what a kernel file is judged on (target.toml of OPS.md).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/json.h"
#include "autokernel/base/result.h"
#include "autokernel/core/dtype.h"

namespace ak {

using NamedInts = std::map<std::string, std::int64_t>;

struct Problem {
  std::string op;                         ///< family, e.g. "rmsnorm"
  NamedInts dims;                         ///< every dim of the family (derived ones too)
  NamedInts flags;                        ///< every flag of the family
  std::map<std::string, double> scalars;  ///< every scalar of the family
  DType dtype = DType::kF32;              ///< of the tensors that have no dtype of their own
  std::map<std::string, std::vector<std::int64_t>> strides;  ///< in elements; only what is not contiguous
  std::vector<std::string> has;                              ///< optional tensors that are present, sorted

  bool operator==(const Problem&) const = default;
  bool has_tensor(const std::string& tensor) const;
  std::string label() const;  ///< "M=4096 N=4096 bf16", flags that are not 0 and optional tensors included
  std::string hash() const;
};

enum class Role { kPrimary, kSweep };  ///< primary: timed, weighs in the objective; sweep: checked
std::string_view name(Role role);      ///< "primary", "sweep"
std::optional<Role> role_from_name(std::string_view name);

struct TargetProblem {
  std::string id;  ///< unique in its target, e.g. "p0"
  Problem problem;
  double calls = 1;  ///< weight in the objective
  std::vector<std::string> sites;
  Role role = Role::kPrimary;
};

struct Target {
  std::string id;  ///< folder name under targets/
  std::string op;
  std::vector<TargetProblem> problems;
};

/// What the id of a target ends with whose problems were reduced for the CPU device. The target that it
/// stands for has the id without it and the same ids of problems.
inline constexpr std::string_view kRehearsal = "_rehearsal";

/// What a time of the target's objective is of: "" where that is one call, "all 8 calls", "all calls of 3
/// problems".
std::string objective_scope(const Target& target);

Json to_json(const Problem& problem);
Result<Problem> problem_from_json(const Json& json, const std::string& what);
Json to_json(const Target& target);
Result<Target> target_from_json(const Json& json, const std::string& what);

}  // namespace ak
