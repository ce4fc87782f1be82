#include "autokernel/harness/sizes.h"

#include <algorithm>

namespace ak::harness {

Limits Limits::for_device(const DeviceInfo& info) {
  Limits limits;
  if (info.kind == "cpu") {
    // A verdict on the CPU is a matter of a second: 1023 x 1023 in and out, or 512^3 multiply-adds.
    limits.max_elements = (std::uint64_t{1} << 21) + (std::uint64_t{1} << 19);
    limits.max_flops = 0x1p28;
  } else {
    limits.launch_deadline = std::chrono::seconds(3);  // a hang is found this late
    limits.fewest_sets = 2;
    limits.most_sets = 64;
    limits.most_groups = 5;  // 10 rounds of each kernel, of very slow ones 6
    // In and out, r, S and one I in fp64, b: 40 bytes an element at most, in 80 % of the memory.
    if (info.memory_bytes > 0) limits.max_elements = std::min(limits.max_elements, info.memory_bytes / 50);
  }
  return limits;
}

Limits Limits::small() const {
  Limits limits = *this;
  limits.max_elements = std::min(max_elements, std::uint64_t{1} << 16);
  limits.max_flops = std::min(max_flops, 0x1p23);
  return limits;
}

Result<std::vector<Problem>> problems_of_set(const op::Family& family, std::string_view set,
                                             const Target& target) {
  std::vector<Problem> problems;
  auto sizes = family.sizes.find(std::string(set));
  if (sizes == family.sizes.end()) return problems;
  std::vector<DType> dtypes;
  for (const TargetProblem& each : target.problems) {
    if (std::find(dtypes.begin(), dtypes.end(), each.problem.dtype) == dtypes.end()) {
      dtypes.push_back(each.problem.dtype);
    }
  }
  for (DType dtype : dtypes) {
    for (const op::Size& size : sizes->second) {
      AK_TRY(problem, op::make_problem(family, size, dtype));
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

Result<std::uint64_t> total_elements(const op::Family& family, const Problem& problem) {
  std::uint64_t elements = 0;
  for (const auto* tensor : family.inputs(problem)) {
    AK_TRY(count, op::element_count(family, *tensor, problem));
    elements += count;
  }
  for (const auto* tensor : family.outputs(problem)) {
    AK_TRY(count, op::element_count(family, *tensor, problem));
    elements += count;
  }
  return elements;
}

Result<std::optional<std::string>> too_large(const op::Family& family, const Problem& problem,
                                             const Limits& limits) {
  AK_TRY(elements, total_elements(family, problem));
  AK_TRY(flops, op::useful_flops(family, problem));
  if (elements > limits.max_elements) {
    return std::optional(fmt::format("{} elements, at most {} here", elements, limits.max_elements));
  }
  if (flops > limits.max_flops) {
    return std::optional(fmt::format("{:.3g} flops, at most {:.3g} here", flops, limits.max_flops));
  }
  return std::optional<std::string>();
}

std::vector<const op::Draw*> draws_of(const op::Family& family, Stage stage) {
  std::vector<const op::Draw*> draws;
  for (const op::Draw& draw : family.draws) {
    if (std::find(draw.stages.begin(), draw.stages.end(), stage) != draw.stages.end()) draws.push_back(&draw);
  }
  if (draws.empty() && !family.draws.empty()) draws.push_back(&family.draws.front());
  return draws;
}

}  // namespace ak::harness
