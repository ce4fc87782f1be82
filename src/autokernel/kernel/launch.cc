#include "autokernel/kernel/launch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autokernel/kernel/names.h"
#include "autokernel/kernel/values.h"

namespace ak::kernel {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What the expressions and args of one plan are evaluated with.
struct Binding {
  const KernelFile& file;
  const Config& config;
  const Problem& problem;
  const Signature& signature;
  Expr::Lookup lookup;

  tl::unexpected<Error> error(std::string_view what, std::string_view message) const {
    return usage_error("{}: {}: {} ({}; {})", file.name, what, message, problem.label(), config.to_string());
  }

  Result<std::int64_t> evaluate(const Expr& expr, std::string_view what) const {
    Result<std::int64_t> value = expr.evaluate(lookup);
    if (!value) {
      return error(what, fmt::format("{}: {}", expr.text(), place_of_expr_error(value.error()).message));
    }
    return value;
  }

  /// A size of a launch, which check_config has found to be within the device's limits.
  Result<std::uint32_t> size(const Expr& expr, std::string_view what) const {
    AK_TRY(value, evaluate(expr, what));
    if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) {
      return error(what, fmt::format("{} = {} is no size", expr.text(), value));
    }
    return static_cast<std::uint32_t>(value);
  }

  Result<std::array<std::uint32_t, 3>> sizes(const std::vector<Expr>& exprs, std::string_view what) const {
    std::array<std::uint32_t, 3> result{1, 1, 1};
    for (std::size_t i = 0; i < exprs.size(); ++i) {
      AK_TRY(value, size(exprs[i], what));
      if (value == 0) return error(what, fmt::format("{} = 0 leaves nothing to launch", exprs[i].text()));
      result[i] = value;
    }
    return result;
  }
};

Result<LaunchArg> bind_scalar(const Binding& binding, const std::string& arg) {
  const auto value = binding.problem.scalars.find(arg);
  if (value == binding.problem.scalars.end()) return binding.error(arg, "the problem has no value for it");
  if (contains(binding.signature.float_scalars, arg)) return LaunchArg(static_cast<float>(value->second));
  const double number = value->second;
  const bool fits = number == std::trunc(number) && number >= std::numeric_limits<std::int32_t>::min() &&
                    number <= std::numeric_limits<std::int32_t>::max();
  if (!fits) return binding.error(arg, fmt::format("{} does not fit a kernel's int", number));
  return LaunchArg(static_cast<std::int32_t>(number));
}

Result<LaunchArg> bind_arg(const Binding& binding, const std::string& arg) {
  const KernelFile& file = binding.file;
  const Signature& signature = binding.signature;
  if (contains(signature.tensors, arg)) {
    const bool absent = contains(signature.optional_tensors, arg) && !binding.problem.has_tensor(arg);
    return absent ? LaunchArg(NullArg{}) : LaunchArg(TensorArg{arg});
  }
  const auto named = [&](const auto& it) { return it.name == arg; };
  if (std::any_of(file.workspaces.begin(), file.workspaces.end(), named)) return LaunchArg(TensorArg{arg});
  if (std::any_of(file.tensor_maps.begin(), file.tensor_maps.end(), named))
    return LaunchArg(TensorMapArg{arg});
  if (contains(signature.float_scalars, arg) || contains(signature.int_scalars, arg))
    return bind_scalar(binding, arg);
  const Result<Expr> expr = Expr::parse(arg);
  if (!expr) return binding.error(arg, place_of_expr_error(expr.error()).message);
  AK_TRY(value, binding.evaluate(*expr, "args"));
  if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
    return binding.error(arg, fmt::format("{} does not fit a kernel's int", value));
  }
  return LaunchArg(static_cast<std::int32_t>(value));
}

Result<LaunchStep> bind_launch(const Binding& binding, const LaunchSpec& launch) {
  LaunchStep step;
  step.entry = launch.entry;
  step.cooperative = launch.cooperative;
  AK_TRY(grid, binding.sizes(launch.grid, "grid"));
  AK_TRY(block, binding.sizes(launch.block, "block"));
  AK_TRY(cluster, binding.sizes(launch.cluster, "cluster"));
  step.grid = grid;
  step.block = block;
  step.cluster = cluster;
  if (launch.shared_bytes) {
    AK_TRY(bytes, binding.size(*launch.shared_bytes, "shared_bytes"));
    step.shared_bytes = bytes;
  }
  for (const std::string& arg : launch.args) {
    AK_TRY(bound, bind_arg(binding, arg));
    step.args.push_back(std::move(bound));
  }
  return step;
}

}  // namespace

Expr::Lookup names_of(const Config& config, const Problem& problem, const DeviceInfo& device,
                      const std::vector<std::string>& optional_tensors) {
  NamedInts values;
  const Names names(problem, device);
  for (const std::string& name : names.all()) values[name] = *names.find(name);
  for (const std::string& tensor : optional_tensors) values.try_emplace(has_name(tensor), 0);
  for (const auto& [name, value] : config.values) {
    if (const std::optional<std::int64_t> number = as_int(value)) values[name] = *number;
  }
  return [values = std::move(values)](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

Result<Source> make_source(const KernelFile& file, const Config& config, const Problem& problem,
                           const Signature& signature, const DeviceInfo& device, Build build) {
  AK_TRY(text, file.render(config));
  Source source;
  source.name = file.name;
  source.text = std::move(text);
  source.dtype = problem.dtype;
  source.flags = problem.flags;
  for (const std::string& tensor : signature.optional_tensors) {
    source.flags[has_name(tensor)] = problem.has_tensor(tensor) ? 1 : 0;
  }
  if (!file.is_template) source.tunables = config.values;
  for (const std::string& dim : file.specialize) {
    const auto value = problem.dims.find(dim);
    if (value == problem.dims.end())
      return usage_error("{}: specialize: the problem has no dim {}", file.name, dim);
    source.specialised[dim] = value->second;
  }
  for (const LaunchSpec& launch : file.launches) {
    if (!contains(source.entries, launch.entry)) source.entries.push_back(launch.entry);
  }
  source.arch = device.arch;
  if (file.max_registers) {
    const Binding binding{file, config, problem, signature,
                          names_of(config, problem, device, signature.optional_tensors)};
    AK_TRY(registers, binding.size(*file.max_registers, "max_registers"));
    if (registers > std::numeric_limits<int>::max()) return binding.error("max_registers", "too large");
    source.max_registers = static_cast<int>(registers);
  }
  source.build = build;
  return source;
}

Result<LaunchPlan> make_plan(const KernelFile& file, const Config& config, const Problem& problem,
                             const Signature& signature, const DeviceInfo& device) {
  const Binding binding{file, config, problem, signature,
                        names_of(config, problem, device, signature.optional_tensors)};
  LaunchPlan plan;
  for (const WorkspaceSpec& workspace : file.workspaces) {
    AK_TRY(bytes, binding.evaluate(workspace.bytes, "workspace " + workspace.name));
    if (bytes < 0) return binding.error("workspace " + workspace.name, fmt::format("{} bytes", bytes));
    plan.workspaces.push_back({workspace.name, static_cast<std::uint64_t>(bytes), workspace.zeroed});
  }
  for (const TensorMapSpec& map : file.tensor_maps) {
    TensorMapPlan bound{map.name, map.tensor, {}, map.swizzle_bytes};
    for (const Expr& size : map.box) {
      AK_TRY(value, binding.size(size, "tensor map " + map.name));
      bound.box.push_back(value);
    }
    plan.tensor_maps.push_back(std::move(bound));
  }
  for (const LaunchSpec& launch : file.launches) {
    if (launch.when) {
      AK_TRY(applies, binding.evaluate(*launch.when, "when of " + launch.entry));
      if (applies == 0) continue;
    }
    AK_TRY(step, bind_launch(binding, launch));
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

}  // namespace ak::kernel
