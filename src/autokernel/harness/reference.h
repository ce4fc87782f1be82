#pragma once
// The trusted reference of a family: compiled once per dtype, flags and present tensors, run outside the
// jail.

#include <map>
#include <memory>

#include "autokernel/harness/context.h"
#include "autokernel/harness/data_set.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::harness {

/// The sources that reference runs of a problem need, so that they can be compiled ahead.
Result<Source> reference_source(const op::Family& family, const Problem& problem, const DeviceInfo& device);

/// The [defaults], with BLOCK (the threads that share a row or a tile) as suits the device.
Config reference_config(const kernel::KernelFile& file, const DeviceInfo& device);

/// What the compiler gets of a reference file.
Result<Source> make_reference_source(const kernel::KernelFile& file, const Config& config,
                                     const op::Family& family, const Problem& problem,
                                     const DeviceInfo& device, Build build);

class References {
 public:
  /// kNo: a reference that `ops check` looks at runs like a candidate, in the checked build where there is
  /// one.
  enum class Trusted { kNo, kYes };
  References(device::Device& device, device::Compiler& compiler, Trusted trusted = Trusted::kYes)
      : device_(device), compiler_(compiler), trusted_(trusted) {}
  /// What a comparison element by element needs, or b too, which only the norm-wise one does.
  enum class Wanted { kReference, kReferenceAndContract };
  /// Steps that fill `truth` (r, S, I and, if wanted, b) from the inputs of `data`.
  Result<std::vector<device::Step>> steps(const op::Family& family, const Problem& problem,
                                          const DataSet& data, Truth& truth,
                                          Wanted wanted = Wanted::kReferenceAndContract);

 private:
  device::Device& device_;
  device::Compiler& compiler_;
  Trusted trusted_;
  std::map<std::string, TrustedModule> modules_;     // by hash of the source
  std::map<std::string, kernel::KernelFile> files_;  // by family
};

}  // namespace ak::harness
