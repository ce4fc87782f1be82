#include "autokernel/harness/family_costs.h"

#include <algorithm>

namespace ak::harness {
namespace {

/// Bytes of the tensors of a problem: all, and the outputs alone.
struct Footprint {
  double all = 0, outputs = 0;
};

Result<Footprint> footprint_of(const op::Family& family, const Problem& problem) {
  Footprint footprint;
  for (const auto& [tensors, out] :
       {std::pair(family.inputs(problem), false), std::pair(family.outputs(problem), true)}) {
    for (const op::TensorSpec* tensor : tensors) {
      AK_TRY(count, op::element_count(family, *tensor, problem));
      const double bytes =
          static_cast<double>(count) * static_cast<double>(size_bytes(op::dtype_of(*tensor, problem)));
      footprint.all += bytes;
      if (out) footprint.outputs += bytes;
    }
  }
  return footprint;
}

std::optional<FamilyFinding> check_problem(const op::Family& family, const Problem& problem) {
  const std::string where = problem.label();
  Result<Footprint> footprint = footprint_of(family, problem);
  if (!footprint) {
    return FamilyFinding{
        fmt::format("op.toml: a shape on {}: {}", where, footprint.error().message),
        "correct the `shape` of that tensor: expressions over dims and flags, each at least 1"};
  }
  Result<double> flops = op::useful_flops(family, problem), bytes = op::compulsory_bytes(family, problem);
  for (const auto& [cost, key] : {std::pair(&flops, "flops"), std::pair(&bytes, "bytes")}) {
    if (*cost && **cost >= 0) continue;
    return FamilyFinding{fmt::format("op.toml: `{}` of [cost] on {}: {}", key, where,
                                     *cost ? fmt::format("{} is below 0", **cost) : cost->error().message),
                         "correct the expression: useful flops and compulsory bytes, in integers"};
  }
  if (*bytes > footprint->all) {
    return FamilyFinding{
        fmt::format("op.toml: `bytes` of [cost] on {}: {} bytes, but all tensors together have {}", where,
                    *bytes, footprint->all),
        "count each element once: what is counted twice makes honest kernels impossibly fast"};
  }
  if (*bytes < footprint->outputs) {
    return FamilyFinding{
        fmt::format("op.toml: `bytes` of [cost] on {}: {} bytes, but the outputs alone have {}", where,
                    *bytes, footprint->outputs),
        "count what is written too; elem_bytes is the size of the problem's dtype"};
  }
  for (const op::TensorSpec* tensor : family.outputs(problem)) {
    auto row = family.tolerance.row_elements.find(tensor->name);
    if (row == family.tolerance.row_elements.end()) continue;
    Result<std::int64_t> value = row->second.evaluate(op::names_of(family, problem));
    Result<std::uint64_t> count = op::element_count(family, *tensor, problem);
    if (value && *value >= 1 && count && *count % static_cast<std::uint64_t>(*value) == 0) continue;
    return FamilyFinding{fmt::format("op.toml: [tolerance.row_elements] of {} on {}: {}", tensor->name, where,
                                     value ? fmt::format("rows of {} do not divide its {} elements", *value,
                                                         count ? *count : 0)
                                           : value.error().message),
                         "give the length of a row, such as its innermost dim"};
  }
  return std::nullopt;
}

}  // namespace

std::vector<FamilyFinding> check_costs(const op::Family& family) {
  for (const auto& [set, sizes] : family.sizes) {
    for (const op::Size& size : sizes) {
      for (DType dtype : family.dtypes) {
        Result<Problem> problem = op::make_problem(family, size, dtype);
        if (!problem) {
          return {{fmt::format("op.toml: a size of `{}`: {}", set, problem.error().message),
                   "correct that size, or the `where` and [derived] that it meets"}};
        }
        if (std::optional<FamilyFinding> finding = check_problem(family, *problem))
          return {std::move(*finding)};
      }
    }
  }
  return {};
}

}  // namespace ak::harness
