#include "autokernel/kernel_generator.h"

#include <algorithm>
#include <filesystem>

#include "autokernel/api/architecture.h"
#include "autokernel/api/candidate_data.h"
#include "autokernel/api/template_text.h"
#include "autokernel/base/file.h"
#include "autokernel/harness/signature.h"
#include "autokernel/kernel/space.h"
#include "autokernel/kernel/spelling.h"
#include "autokernel/kernel/values.h"

namespace ak {
namespace {

/// Configs looked at for reasons when a file has no valid config at all.
constexpr std::uint64_t kMaxExplained = 100'000;

struct NamedText {
  std::string name, text;
};

/// A file on disk, else a kernel that comes with an op family.
Result<NamedText> find_kernel(const std::string& name, const op::Registry& registry) {
  if (std::filesystem::exists(name)) {
    AK_TRY(text, read_file(name));
    return NamedText{name, std::move(text)};
  }
  for (const op::Family& family : registry.families()) {
    for (const op::KernelSource& kernel : family.kernels) {
      if (kernel.name == name) return NamedText{kernel.name, kernel.text};
    }
  }
  return usage_error(
      "kernel file `{}`: there is no such file, and no op family has a kernel of that name (`autokernel "
      "ops`)",
      name);
}

Result<NamedText> text_of(const GeneratorOptions& options, const op::Registry& registry) {
  if (options.text.empty() == options.kernel_file.empty()) {
    return usage_error("give either GeneratorOptions::kernel_file or GeneratorOptions::text");
  }
  if (!options.kernel_file.empty()) return find_kernel(options.kernel_file, registry);
  if (options.launch.entry.empty()) return NamedText{"<text>", options.text};
  AK_TRY(text, api::kernel_file_of_template(options));
  return NamedText{"<template>", std::move(text)};
}

Result<Target> make_target(const GeneratorOptions& options, const kernel::KernelFile& file,
                           const op::Family& family) {
  std::optional<DType> dtype = dtype_from_name(options.dtype);
  if (!dtype || !file.supports(*dtype)) {
    return usage_error("dtype `{}`: {} declares no such dtype (see `dtypes` in its front matter)",
                       options.dtype, file.name);
  }
  op::Size size;
  if (!options.problem.empty()) {
    AK_TRY(parsed, op::parse_size(family, options.problem));
    size = std::move(parsed);
  } else if (auto sweep = family.sizes.find("sweep"); sweep != family.sizes.end() && !sweep->second.empty()) {
    size = sweep->second.front();
  } else {
    return usage_error("op `{}` has no size of its own: give GeneratorOptions::problem", family.name);
  }
  AK_TRY(problem, op::make_problem(family, size, *dtype));
  Target target;
  target.id = target.op = family.name;
  target.problems.push_back({"p0", std::move(problem), 1, {}, Role::kPrimary});
  return target;
}

/// The file with only those values of its tunables that are asked for.
Result<kernel::KernelFile> restricted(const kernel::KernelFile& file, const GeneratorOptions& options) {
  kernel::KernelFile out = file;
  for (const auto& [name, values] : options.parameters) {
    auto tunable = std::find_if(out.tunables.begin(), out.tunables.end(),
                                [&](const auto& it) { return it.name == name; });
    if (tunable == out.tunables.end()) {
      return usage_error("{} has no parameter `{}`: {}", file.name, name,
                         kernel::spelling_hint(name, kernel::tunable_names(file)));
    }
    for (const ParameterValue& value : values) {
      if (kernel::position_of(*tunable, value)) continue;
      return usage_error("{}: {} = {} is not among its values: {}", file.name, name, to_string(value),
                         kernel::values_text(*tunable));
    }
    if (values.empty()) return usage_error("parameter `{}` has no values", name);
    std::erase_if(tunable->values, [&](const TunableValue& it) {
      return std::find(values.begin(), values.end(), it) == values.end();
    });
  }
  return out;
}

/// The config with that number in the product of the tunables' values, the last tunable the lowest digit.
Config config_at(const kernel::KernelFile& file, std::uint64_t number) {
  Config config;
  for (auto tunable = file.tunables.rbegin(); tunable != file.tunables.rend(); ++tunable) {
    config.values[tunable->name] = tunable->values[number % tunable->values.size()];
    number /= tunable->values.size();
  }
  return config;
}

std::uint64_t raw_size(const kernel::KernelFile& file) {
  std::uint64_t size = 1;
  for (const kernel::Tunable& tunable : file.tunables) {
    if (__builtin_mul_overflow(size, tunable.values.size(), &size)) return UINT64_MAX;
  }
  return size;
}

}  // namespace

struct KernelGenerator::Impl {
  std::shared_ptr<const CandidateOrigin> origin;  // shared with the candidates
  kernel::KernelFile file;                        ///< with only the values that are considered

  /// Stops after `count` invalid ones or kMaxInvalid.
  Result<std::vector<InvalidCandidate>> explain(std::uint64_t raw, std::uint64_t count) const {
    std::vector<InvalidCandidate> found;
    for (std::uint64_t i = 0; i < raw && found.size() < std::min<std::uint64_t>(count, kMaxInvalid); ++i) {
      Config config = config_at(file, i);
      AK_TRY(invalid, kernel::check_config(file, config, origin->problem(), origin->device));
      if (invalid) found.push_back({std::move(config.values), std::move(invalid->reason)});
    }
    return found;
  }
};

KernelGenerator::KernelGenerator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KernelGenerator::KernelGenerator(KernelGenerator&&) noexcept = default;
KernelGenerator& KernelGenerator::operator=(KernelGenerator&&) noexcept = default;
KernelGenerator::~KernelGenerator() = default;

Result<KernelGenerator> KernelGenerator::create(GeneratorOptions options) {
  AK_TRY(device, api::describe_architecture(options.architecture));
  AK_TRY(registry, op::Registry::create(op::embedded_families(), options.op_folders));
  AK_TRY(text, text_of(options, registry));
  AK_TRY(file, kernel::parse(text.text, text.name));
  if (!options.op.empty() && !file.op.empty() && options.op != file.op) {
    return usage_error("op `{}`: {} is of op `{}`", options.op, file.name, file.op);
  }
  const std::string& op = file.op.empty() ? options.op : file.op;
  if (op.empty())
    return usage_error("{}: the front matter names no op; give GeneratorOptions::op", file.name);
  AK_TRY(family, registry.find(op));
  AK_TRY_VOID(kernel::check_against(file, harness::signature_of(*family)));
  AK_TRY(target, make_target(options, file, *family));
  AK_TRY(considered, restricted(file, options));
  auto impl = std::make_unique<Impl>();
  impl->origin = std::make_shared<CandidateOrigin>(
      CandidateOrigin{std::move(registry), std::move(file), std::move(target), std::move(device)});
  impl->file = std::move(considered);
  return KernelGenerator(std::move(impl));
}

Result<Generated> KernelGenerator::generate() const {
  const CandidateOrigin& origin = *impl_->origin;
  std::uint64_t raw = raw_size(impl_->file);
  Generated generated;
  Result<kernel::Space> space = kernel::Space::create(impl_->file, origin.device, {&origin.problem(), 1});
  if (!space) {
    // An empty space is an answer; everything else that goes wrong is not.
    if (raw > kMaxExplained) return tl::unexpected(std::move(space).error());
    AK_TRY(invalid, impl_->explain(raw, raw));
    if (invalid.size() < std::min<std::uint64_t>(raw, kMaxInvalid))
      return tl::unexpected(std::move(space).error());
    generated.invalid = std::move(invalid);
    generated.invalid_count = raw;
    return generated;
  }
  for (std::size_t index : space->heuristic_order(impl_->file, origin.device, origin.problem())) {
    generated.candidates.emplace_back(
        std::make_shared<KernelCandidate::Data>(KernelCandidate::Data{impl_->origin, space->config(index)}));
  }
  generated.invalid_count = raw - space->size();
  AK_TRY(invalid, impl_->explain(raw, generated.invalid_count));
  generated.invalid = std::move(invalid);
  return generated;
}

}  // namespace ak
