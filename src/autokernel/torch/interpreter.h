#pragma once
// Which Python and which PyTorch profiling and baselines would use.

#include <chrono>
#include <string>

#include "autokernel/base/result.h"

namespace ak::torch {

struct Interpreter {
  std::string executable, version;  ///< "/usr/bin/python3", "3.11.2"
  std::string torch;                ///< "2.5.1+cu124"; empty: it has none
  std::string why_not;              ///< why it has none, or why PyTorch is broken
  std::string cuda;                 ///< that PyTorch was built for, "12.4"; empty: a PyTorch without CUDA
  std::string gpu;                  ///< the first one that PyTorch sees; empty: none
};

/// Asks the interpreter itself. kEnvironment: it cannot be started, or does not answer by the deadline.
Result<Interpreter> describe_interpreter(const std::string& python, std::chrono::seconds deadline);

}  // namespace ak::torch
