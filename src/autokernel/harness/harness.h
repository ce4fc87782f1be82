#pragma once
// THE pipeline: compile -> audit -> smoke, shape_sweep, numerical_stability, determinism, edge_cases ->
// integrity -> time -> plausibility -> Verdict. Cheapest first; the first failure ends it. One Harness lives
// in one runner and serves jobs one after another.
//
//   Harness harness(device, compiler, registry, CheckSet::all(), clock);
//   AK_TRY(verdict, harness.judge(job));   // an Error means the environment, not the candidate

#include <filesystem>
#include <optional>
#include <vector>

#include "autokernel/base/clock.h"
#include "autokernel/core/verdict.h"
#include "autokernel/harness/checks.h"
#include "autokernel/harness/context.h"
#include "autokernel/harness/device_peaks.h"
#include "autokernel/harness/family_check.h"
#include "autokernel/harness/job.h"
#include "autokernel/harness/reference.h"
#include "autokernel/op/op_family.h"

namespace ak::harness {

class Harness {
 public:
  Harness(device::Device& device, device::Compiler& compiler, const op::Registry& registry, CheckSet checks,
          const Clock& clock, std::filesystem::path peak_folder = {})
      : device_(device),
        compiler_(compiler),
        registry_(registry),
        checks_(std::move(checks)),
        clock_(clock),
        peak_folder_(std::move(peak_folder)),
        trusted_(device, compiler),
        references_(device, compiler) {}

  Result<Verdict> judge(const Job& job);
  /// Of a device whose caches can be made cold: from `peak_folder`, or measured once and kept there. Null for
  /// others.
  Result<const roofline::Peaks*> peaks();
  /// `autokernel ops check`: what is wrong with a family; empty: nothing.
  Result<std::vector<FamilyFinding>> check_family(const std::string& op, std::uint64_t seed);

 private:
  device::Device& device_;
  device::Compiler& compiler_;
  const op::Registry& registry_;
  CheckSet checks_;
  const Clock& clock_;
  std::filesystem::path peak_folder_;
  std::optional<roofline::Peaks> peaks_;
  TrustedKernels trusted_;
  References references_;
};

/// Every source that judging this job will compile (candidate and reference), so that compiles can run ahead
/// and in parallel with measuring. Needs no device, only its description.
Result<std::vector<Source>> sources_of(const Job& job, const op::Registry& registry,
                                       const DeviceInfo& device);

}  // namespace ak::harness
