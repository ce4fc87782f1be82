#pragma once
// From what a jail claims (or the runner saw) to a device::Fault with words. No field of a record is trusted:
// numbers are only printed, indices are checked, text is cleaned.

#include <optional>
#include <string>
#include <vector>

#include "autokernel/device/cpu/fault_record.h"
#include "autokernel/device/cpu/jail.h"
#include "autokernel/device/device.h"

namespace ak::cpu {

/// Finds kernel lines with addr2line, where it is installed and the module has line information.
class LineTable {
 public:
  explicit LineTable(int module_fd) : module_fd_(module_fd) {}
  /// "softmax.cu:17", or "" when unknown. `pc` is a return address: the line of the instruction before it.
  std::string line_of(std::uint64_t pc) const;

 private:
  int module_fd_;
};

struct FaultContext {
  const LineTable* lines = nullptr;
  const device::Launch* launch = nullptr;                  ///< the step's, or null
  const std::vector<device::BufferId>* buffers = nullptr;  ///< the jail's table
  std::chrono::milliseconds deadline{0};
  const std::vector<std::string>* names = nullptr;  ///< of `buffers`; empty texts where they have none
};

device::Fault describe(const FaultRecord& record, const FaultContext& context);
device::Fault describe(const JailEnd& end, const FaultContext& context);

}  // namespace ak::cpu
