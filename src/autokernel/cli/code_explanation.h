#pragma once
// `bench --explain`: what the compiled code of a candidate uses (registers, shared memory, occupancy and what
// limits it, widths of global accesses, matrix and other instructions) and how much of the device its time
// amounts to.

#include <string>

#include "autokernel/base/result.h"
#include "autokernel/cli/session.h"
#include "autokernel/core/launch_plan.h"
#include "autokernel/core/verdict.h"
#include "autokernel/kernel/kernel_file.h"

namespace ak::cli {

/// How many blocks of one launch fit on a multiprocessor at once.
struct Occupancy {
  std::uint32_t blocks = 0;
  std::uint32_t warps = 0;
  double share = 0;     ///< of the warps that a multiprocessor can hold
  std::string limiter;  ///< "threads", "registers", "shared memory", "blocks"
};
/// By the allocation rules of the CUDA occupancy calculator: registers by warps in units of 256, 1 KiB of
/// shared memory reserved for each block.
Occupancy occupancy_of(const LaunchStep& step, const Entry& entry, const DeviceInfo& device);

/// Bytes an access -> how many loads and stores of global memory the PTX has, e.g. {16: 4}.
struct AccessWidths {
  std::map<int, int> loads, stores;
};
AccessWidths access_widths(std::string_view ptx);

/// What the code of one config on one problem of a CUDA device is made of.
Result<Json> explain_code(Session& session, const kernel::KernelFile& file, const Config& config,
                          const op::Family& family, const Problem& problem, const DeviceInfo& device);

/// `instructions`, the mix of a cubin's machine code, or `instructions_missing`, why it is not known.
void add_instructions(Session& session, const Binary& binary, Json& json);
std::string instructions_text(const Json& json);

/// Explains each timed problem of a verdict, with what it achieved.
Result<Json> explain(Session& session, const kernel::KernelFile& file, const Config& config,
                     const op::Family& family, const Verdict& verdict);
std::string explain_text(const Json& explained);

}  // namespace ak::cli
