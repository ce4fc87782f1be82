#pragma once
// What a public KernelCandidate holds.

#include <memory>

#include "autokernel/core/device_info.h"
#include "autokernel/core/problem.h"
#include "autokernel/kernel/kernel_file.h"
#include "autokernel/kernel_candidate.h"
#include "autokernel/op/op_family.h"

namespace ak {

/// What all candidates of one generator have in common. Immutable.
struct CandidateOrigin {
  op::Registry registry;
  kernel::KernelFile file;
  Target target;      ///< one primary problem
  DeviceInfo device;  ///< whose limits the candidates keep

  const Problem& problem() const { return target.problems.front().problem; }
  /// Candidates with equal keys are comparable: same text, same problem.
  std::string key() const { return file.hash + problem().hash(); }
};

struct KernelCandidate::Data {
  std::shared_ptr<const CandidateOrigin> origin;  // shared by all candidates of a generator
  Config config;
};

}  // namespace ak
