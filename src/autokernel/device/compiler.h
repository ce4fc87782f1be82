#pragma once
// INTERFACE. Turns a Source into a Binary; needs no device. A source that does not compile is a value
// (CompileOutcome::failure), a missing compiler is an Error.

#include <optional>
#include <string>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"
#include "autokernel/core/failure.h"

namespace ak::device {

struct CompileOutcome {
  std::optional<Binary> binary;
  std::optional<Failure> failure;  ///< exactly one of the two is set
};

/// Trusted sources (references, harness kernels) may skip the audit's facts, never the sandbox.
enum class Trust { kTrusted, kCandidate };

class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual Result<CompileOutcome> compile(const Source& source) = 0;
  virtual std::string description() const = 0;  ///< "g++ 12.2.0", "NVRTC 13.0"; part of every record
};

}  // namespace ak::device
