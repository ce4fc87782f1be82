#include "autokernel/harness/reference.h"

#include "autokernel/harness/binding.h"
#include "autokernel/harness/signature.h"

namespace ak::harness {
namespace {

Result<device::TensorMap> no_tensor_maps(const std::string& name) {
  return usage_error("a reference has no tensor maps, but names {}", name);
}

/// A flag that is an arg of a launch is no macro: one binary then serves all of its values, and the user
/// waits for fewer compilations.
void drop_flags_that_are_args(Source& source, const kernel::KernelFile& file) {
  for (const kernel::LaunchSpec& launch : file.launches) {
    for (const std::string& arg : launch.args) source.flags.erase(arg);
  }
}

Result<Source> source_of(const kernel::KernelFile& file, const op::Family& family, const Problem& problem,
                         const DeviceInfo& device, Build build) {
  return make_reference_source(file, reference_config(file, device), family, problem, device, build);
}

}  // namespace

Config reference_config(const kernel::KernelFile& file, const DeviceInfo& device) {
  Config config = file.defaults;
  if (auto block = config.values.find("BLOCK"); block != config.values.end()) {
    block->second = static_cast<std::int64_t>(device.natural_block);
  }
  return config;
}

Result<Source> make_reference_source(const kernel::KernelFile& file, const Config& config,
                                     const op::Family& family, const Problem& problem,
                                     const DeviceInfo& device, Build build) {
  AK_TRY(source, kernel::make_source(file, config, problem, reference_signature(family), device, build));
  drop_flags_that_are_args(source, file);
  return source;
}

Result<Source> reference_source(const op::Family& family, const Problem& problem, const DeviceInfo& device) {
  AK_TRY(file, kernel::parse(family.reference, family.name + "/reference.cu"));
  return source_of(file, family, problem, device, Build::kTimed);
}

Result<std::vector<device::Step>> References::steps(const op::Family& family, const Problem& problem,
                                                    const DataSet& data, Truth& truth, Wanted wanted) {
  auto cached = files_.find(family.hash);
  if (cached == files_.end()) {
    AK_TRY(parsed, kernel::parse(family.reference, family.name + "/reference.cu"));
    AK_TRY_VOID(kernel::check_against(parsed, reference_signature(family)));
    cached = files_.emplace(family.hash, std::move(parsed)).first;
  }
  const kernel::KernelFile& file = cached->second;
  const bool checked = trusted_ == Trusted::kNo && device_.info().checked_build;
  AK_TRY(source, source_of(file, family, problem, device_.info(), checked ? Build::kChecked : Build::kTimed));
  std::string key = hash(source);
  auto module = modules_.find(key);
  if (module == modules_.end()) {
    AK_TRY(loaded,
           load_trusted(device_, compiler_, source,
                        trusted_ == Trusted::kYes ? device::Trust::kTrusted : device::Trust::kCandidate));
    module = modules_.emplace(key, std::move(loaded)).first;
  }
  AK_TRY(plan, kernel::make_plan(file, reference_config(file, device_.info()), problem,
                                 reference_signature(family), device_.info()));
  AK_TRY(steps, truth.prepare_workspaces(device_, plan));
  for (const LaunchStep& step : plan.steps) {
    if (wanted == Wanted::kReference && step.entry.starts_with("contract")) continue;
    AK_TRY(launch, harness::bind(
                       step, module->second.id, module->second.binary,
                       [&](const std::string& name) {
                         std::optional<device::BufferRef> ref = truth.find(name);
                         return ref ? ref : data.find(name);
                       },
                       no_tensor_maps));
    steps.push_back(std::move(launch));
  }
  return steps;
}

}  // namespace ak::harness
