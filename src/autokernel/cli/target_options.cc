#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "autokernel/base/file.h"
#include "autokernel/cli/commands.h"
#include "autokernel/cli/planning.h"
#include "autokernel/harness/signature.h"
#include "autokernel/harness/sizes.h"
#include "autokernel/kernel/space.h"
#include "autokernel/op/target_file.h"

namespace ak::cli {
namespace {

namespace fs = std::filesystem;

Result<std::vector<DType>> chosen_dtypes(const std::vector<std::string>& names,
                                         const kernel::KernelFile& file) {
  if (names.empty()) return file.dtypes;
  std::vector<DType> dtypes;
  for (const std::string& each : names) {
    std::optional<DType> dtype = dtype_from_name(each);
    if (!dtype) return usage_error("--dtype {}: expected f32, f16 or bf16", each);
    if (!file.supports(*dtype)) {
      return usage_error("--dtype {}: {} declares no such dtype (see `dtypes` in its front matter)", each,
                         file.name);
    }
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

Result<Target> target_of_dims(const op::Family& family, const TargetOptions& options,
                              const std::vector<DType>& dtypes) {
  Target target;
  target.op = family.name;
  for (const std::string& text : options.dims) {
    AK_TRY(size, op::parse_size(family, text));
    for (DType dtype : dtypes) {
      AK_TRY(problem, op::make_problem(family, size, dtype));
      TargetProblem each;
      each.id = fmt::format("p{}", target.problems.size());
      each.problem = std::move(problem);
      target.problems.push_back(std::move(each));
    }
  }
  return target;
}

/// Sizes that this device cannot check in reasonable time, or that the file's `needs` exclude, are dropped
/// from a default target, and said so.
Result<Target> within_reach(Session& session, const op::Family& family, const kernel::KernelFile& file,
                            Target target, const DeviceInfo& device) {
  harness::Limits limits = harness::Limits::for_device(device);
  std::vector<TargetProblem> kept;
  std::size_t dropped = 0, excluded = 0;
  std::string why;  // of the first that the file does not take: `needs`, `where` or a device's limit
  for (TargetProblem& each : target.problems) {
    AK_TRY(large, harness::too_large(family, each.problem, limits));
    AK_TRY(invalid, kernel::check_config(file, file.defaults, each.problem, device));
    if (large) {
      ++dropped;
    } else if (invalid) {
      if (excluded++ == 0) why = fmt::format("; e.g. {}: {}", each.problem.label(), invalid->reason);
    } else {
      kept.push_back(std::move(each));
    }
  }
  if (kept.empty()) {
    return usage_error(
        "of the sizes of the set {} are too large for this device and {} are not valid for {} with its "
        "[defaults]{}; "
        "correct the file, or give other sizes with --dims or --sizes",
        dropped, excluded, file.name, why);
  }
  if (excluded > 0)
    session.log().info("{} sizes are not valid for the file and were left out{}", excluded, why);
  if (dropped > 0) session.log().info("{} sizes are too large for this device and were left out", dropped);
  target.problems = std::move(kept);
  return target;
}

/// nullopt when nothing can be halved any more.
Result<std::optional<Problem>> halved(const op::Family& family, const kernel::KernelFile& file,
                                      const Problem& problem, const DeviceInfo& device) {
  std::vector<std::string> dims = family.dims;
  std::stable_sort(dims.begin(), dims.end(), [&](const std::string& a, const std::string& b) {
    return problem.dims.at(a) > problem.dims.at(b);
  });
  op::Size size{{}, problem.flags, problem.has, problem.scalars};
  for (const std::string& dim : dims) size.dims[dim] = problem.dims.at(dim);
  for (const std::string& dim : dims) {
    if (size.dims[dim] < 2) break;
    op::Size smaller = size;
    smaller.dims[dim] /= 2;
    Result<Problem> candidate = op::make_problem(family, smaller, problem.dtype);
    if (!candidate) continue;  // e.g. HQ % HKV == 0
    AK_TRY(invalid, kernel::check_config(file, file.defaults, *candidate, device));
    if (!invalid) return std::optional(std::move(*candidate));
  }
  return std::optional<Problem>();
}

/// A rehearsal is for seeing the search at work: tensor-core kernels are computed lane by lane here.
harness::Limits limits_of_rehearsals(harness::Limits limits) {
  limits.max_elements = std::min(limits.max_elements, std::uint64_t{1} << 18);
  limits.max_flops = std::min(limits.max_flops, 0x1p24);
  return limits;
}

/// A target of a model on the CPU device: problems too large for it are halved, largest dims first, until
/// a search gets somewhere. The target gets a name of its own, so that no record takes one for the other.
Result<Target> rehearsal(Session& session, const op::Family& family, const kernel::KernelFile& file,
                         Target target, const DeviceInfo& device, Purpose purpose) {
  const harness::Limits limits = harness::Limits::for_device(device);
  bool beyond = false;
  for (const TargetProblem& each : target.problems) {
    AK_TRY(large, harness::too_large(family, each.problem, limits));
    beyond = beyond || large.has_value();
  }
  if (!beyond) return target;
  for (TargetProblem& each : target.problems) {
    const std::string before = each.problem.label();
    for (;;) {
      AK_TRY(large, harness::too_large(family, each.problem, limits_of_rehearsals(limits)));
      if (!large) break;
      AK_TRY(smaller, halved(family, file, each.problem, device));
      if (!smaller) break;
      each.problem = std::move(*smaller);
    }
    AK_TRY(still, harness::too_large(family, each.problem, limits));
    if (still)
      return usage_error("{}: {} is too large for this device ({}) and cannot be made smaller", file.name,
                         before, *still);
    if (each.role != Role::kPrimary || each.problem.label() == before) continue;
    if (purpose != Purpose::kRead) announce_rehearsal(session, before, each.problem.label());
  }
  target.id += kRehearsal;
  return target;
}

/// Of the target.toml in the file's folder; nullopt: there is none.
Result<std::optional<Target>> target_beside(const std::string& path, const std::string& op,
                                            const op::Registry& registry) {
  const fs::path beside = fs::path(path).parent_path() / "target.toml";
  std::error_code ignored;
  if (!fs::exists(beside, ignored)) return std::optional<Target>();
  AK_TRY(text, read_file(beside));
  AK_TRY(target, op::parse_target(text, beside.string(), registry));
  if (target.op != op) {
    return usage_error("{} is a target of op `{}`, {} a kernel of `{}`: a target's kernel keeps its op",
                       beside.string(), target.op, path, op);
  }
  return std::optional(std::move(target));
}

/// A file for one architecture, on a device of another: nothing else about the file matters then.
Status for_this_arch(const kernel::KernelFile& file, const DeviceInfo& device, Purpose purpose) {
  if (file.supports_arch(device.arch)) return {};
  const std::string all = fmt::format("{}", fmt::join(file.arch, ", "));
  if (purpose == Purpose::kCompile)
    return usage_error("{} is for {}: --arch {}", file.name, all, file.arch.front());
  return usage_error(
      "{} is for {}, and the device is {} ({}): it needs such a GPU, here (--device cuda) or elsewhere "
      "(--worker); `autokernel compile FILE --arch {}` compiles it without one",
      file.name, all, device.name, device.arch, file.arch.front());
}

}  // namespace

void announce_rehearsal(Session& session, const std::string& problem, const std::string& stand_in) {
  session.note_once(
      fmt::format("rehearsal: {} is too large for this device, {} stands for it", problem, stand_in));
}

Result<LoadedKernel> load_kernel(Session& session, const std::string& path, const TargetOptions& options,
                                 const DeviceInfo& device, Purpose purpose) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return usage_error("{}: no such file (a kernel file was expected)", path);
  AK_TRY(file, kernel::load(path));
  AK_TRY(registry, session.registry());
  std::string op = options.op.empty() ? file.op : options.op;
  if (op.empty()) return usage_error("{}: the front matter names no op; give one with --op", path);
  if (!file.op.empty() && op != file.op) {
    return usage_error("--op {}: {} is of op `{}`", op, path, file.op);
  }
  AK_TRY(family, registry->find(op));
  if (!options.dims.empty() && !options.sizes.empty())
    return usage_error("--dims and --sizes exclude each other");
  std::optional<Target> beside;
  if (options.dims.empty() && options.sizes.empty() && options.dtypes.empty()) {
    AK_TRY(found, target_beside(path, op, *registry));
    beside = std::move(found);
  }
  // Targets tell a mismatch of their own, each in its verdict.
  if (!beside || purpose == Purpose::kCompile) AK_TRY_VOID(for_this_arch(file, device, purpose));
  const bool reference = harness::is_reference(file, *family);
  if (reference && purpose != Purpose::kCompile) {
    return usage_error(
        "{}: it is a reference of {}: kernels are judged against it, and it is judged by nothing. "
        "`autokernel "
        "compile` compiles it; `autokernel ops check DIR` checks the one of a family's folder",
        path, op);
  }
  AK_TRY_VOID(kernel::check_against(
      file, reference ? harness::reference_signature(*family) : harness::signature_of(*family)));
  AK_TRY(dtypes, chosen_dtypes(options.dtypes, file));
  LoadedKernel loaded{std::move(file), {}, reference};
  if (!options.dims.empty()) {
    AK_TRY(target, target_of_dims(*family, options, dtypes));
    loaded.target = std::move(target);
  } else if (beside) {
    if (device.kind == "cpu") {
      AK_TRY(reduced, rehearsal(session, *family, loaded.file, std::move(*beside), device, purpose));
      loaded.target = std::move(reduced);
    } else {
      loaded.target = std::move(*beside);
    }
  } else {
    std::string set = !options.sizes.empty() ? options.sizes : device.kind == "cpu" ? "sweep" : "primary";
    AK_TRY(target, op::default_target(*family, dtypes, set));
    AK_TRY(kept, within_reach(session, *family, loaded.file, std::move(target), device));
    loaded.target = std::move(kept);
  }
  std::string stem = fs::path(path).stem().string();
  if (loaded.target.id.empty()) loaded.target.id = stem == "kernel" ? op : fmt::format("{}_{}", op, stem);
  std::replace_if(
      loaded.target.id.begin(), loaded.target.id.end(),
      [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-'; }, '_');
  return loaded;
}

}  // namespace ak::cli
