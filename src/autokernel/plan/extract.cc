#include "autokernel/plan/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel/space.h"
#include "autokernel/op/target_file.h"

namespace ak::plan {
namespace {

struct Choice {
  std::optional<kernel::KernelFile> file;
  std::vector<std::string> refusals;  // "tiled.cu: needs N % 4 == 0"
};

double space_size(const kernel::KernelFile& file) {
  double size = 1;
  for (const kernel::Tunable& tunable : file.tunables) size *= static_cast<double>(tunable.values.size());
  return size;
}

bool better(const kernel::KernelFile& a, const kernel::KernelFile& b) {
  if (a.arch.empty() != b.arch.empty()) return b.arch.empty();
  return space_size(a) > space_size(b);
}

/// nullopt, or why the file does not cover the problem.
Result<std::optional<std::string>> refusal(const kernel::KernelFile& file, const Problem& problem,
                                           const DeviceInfo& device) {
  if (!file.supports_arch(device.arch))
    return std::optional(fmt::format("is for {} only", fmt::join(file.arch, ", ")));
  AK_TRY(invalid, kernel::check_config(file, file.defaults, problem, device));
  return invalid ? std::optional(invalid->reason) : std::nullopt;
}

Result<Choice> choose_kernel(const op::Family& family, const Problem& problem, const DeviceInfo& device) {
  Choice choice;
  for (const op::KernelSource& source : family.kernels) {
    AK_TRY(file, kernel::parse(source.text, source.name));
    AK_TRY(reason, refusal(file, problem, device));
    if (reason) {
      choice.refusals.push_back(fmt::format("{}: {}", source.name, *reason));
    } else if (!choice.file || better(file, *choice.file)) {
      choice.file = std::move(file);
    }
  }
  return choice;
}

using Change = std::int64_t (*)(std::int64_t);
enum class Extent { kAllDims, kFirstDim };

/// The problem with its dims changed, one after another, as far as family and kernel allow. nullopt: no dim
/// can be.
std::optional<Problem> neighbour(const op::Family& family, const kernel::KernelFile& file,
                                 const Problem& problem, const DeviceInfo& device, Change change,
                                 Extent extent) {
  std::optional<Problem> found;
  op::Size size{{}, problem.flags, problem.has, problem.scalars};
  for (const std::string& dim : family.dims) size.dims[dim] = problem.dims.at(dim);
  for (const std::string& dim : family.dims) {
    const std::int64_t before = size.dims[dim];
    if (before <= 1 || change(before) == before) continue;
    size.dims[dim] = change(before);
    Result<Problem> changed = op::make_problem(family, size, problem.dtype);
    const auto reason = changed ? refusal(file, *changed, device) : std::optional<std::string>();
    if (!changed || !reason || *reason) {
      size.dims[dim] = before;
      continue;
    }
    found = std::move(*changed);
    if (extent == Extent::kFirstDim) break;
  }
  return found;
}

void add_neighbours(const op::Family& family, const kernel::KernelFile& file, const DeviceInfo& device,
                    Target& target) {
  struct Kind {
    const char* id;
    Change change;
    Extent extent;
  };
  static constexpr Kind kKinds[] = {
      {"half", [](std::int64_t dim) { return dim / 2; }, Extent::kAllDims},
      {"double", [](std::int64_t dim) { return dim * 2; }, Extent::kFirstDim},
      {"odd", [](std::int64_t dim) { return dim - 1 + dim % 2; }, Extent::kAllDims},
  };
  const Problem primary = target.problems.front().problem;
  for (const Kind& kind : kKinds) {
    std::optional<Problem> problem = neighbour(family, file, primary, device, kind.change, kind.extent);
    if (!problem) continue;
    TargetProblem each;
    each.id = kind.id;
    each.problem = std::move(*problem);
    each.role = Role::kSweep;
    target.problems.push_back(std::move(each));
  }
}

std::string commented(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("# {}\n", note);
  return text;
}

}  // namespace

Result<Extraction> extract(const PlanSite& site, const op::Registry& registry, const DeviceInfo& device) {
  AK_TRY(family, registry.find(site.problem.op));
  Extraction result;
  result.target.id = site.id;
  result.target.op = family->name;
  TargetProblem primary;
  primary.id = "p0";
  primary.problem = site.problem;
  primary.calls = site.calls;
  primary.sites = {site.id};
  for (const auto& [tensor, strides] : site.problem.strides) {
    result.notes.push_back(
        fmt::format("in the model `{}` has the strides [{}]; kernels get it contiguous: other "
                    "strides are not supported yet",
                    tensor, fmt::join(strides, ", ")));
  }
  primary.problem.strides.clear();
  for (const std::string& name : site.assumed)
    result.notes.push_back(fmt::format("the trace does not tell `{}`: the default is assumed", name));
  AK_TRY(choice, choose_kernel(*family, primary.problem, device));
  result.target.problems.push_back(std::move(primary));
  if (!choice.file) {
    result.notes.push_back(fmt::format("no kernel of {} covers {}; a kernel file of your own can",
                                       family->name, site.problem.label()));
    for (std::string& reason : choice.refusals) result.notes.push_back(std::move(reason));
    return result;
  }
  add_neighbours(*family, *choice.file, device, result.target);
  result.toml = commented(result.notes) + op::format_target(result.target);
  result.kernel_name = choice.file->name;
  result.kernel_text = choice.file->text;
  return result;
}

}  // namespace ak::plan
