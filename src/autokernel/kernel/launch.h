#pragma once
// From a kernel file, a config and a problem to a Source (for the compiler) and a LaunchPlan (for the
// device).

#include <functional>
#include <optional>
#include <string>

#include "autokernel/core/binary.h"
#include "autokernel/core/device_info.h"
#include "autokernel/core/launch_plan.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::kernel {

/// Names an expression may use: tunables, dims, flags, HAS_<TENSOR> of optional tensors, `elem_bytes` (the
/// problem's dtype), `warp_size`, `max_threads`, `max_shared_bytes`, `multiprocessors`.
Expr::Lookup names_of(const Config& config, const Problem& problem, const DeviceInfo& device,
                      const std::vector<std::string>& optional_tensors);

/// What of an op family launches need: names of its tensors, dims and scalars. Filled from op::Family by the
/// caller (kernel does not depend on op).
struct Signature {
  std::vector<std::string> tensors;           ///< all, in the family's order
  std::vector<std::string> optional_tensors;  ///< those that may be absent
  std::vector<std::string> dims, flags;
  std::vector<std::string> float_scalars, int_scalars;
};

/// Every arg of every launch is a known name or an expression over known names; entries, workspaces and
/// tensor maps are consistent; dims in `specialize` exist. Errors point into the file.
Status check_against(const KernelFile& file, const Signature& signature);

Result<Source> make_source(const KernelFile& file, const Config& config, const Problem& problem,
                           const Signature& signature, const DeviceInfo& device, Build build);

/// Evaluates grid, block, shared memory, workspaces and args. Invalid configs are the caller's to find first
/// (check_config).
Result<LaunchPlan> make_plan(const KernelFile& file, const Config& config, const Problem& problem,
                             const Signature& signature, const DeviceInfo& device);

/// The limits that only the compiled code shows (static + dynamic shared memory, registers x threads,
/// parameter count): nullopt, or why the config is invalid on this device.
std::optional<std::string> check_resources(const LaunchPlan& plan, const Binary& binary,
                                           const DeviceInfo& device);

}  // namespace ak::kernel
