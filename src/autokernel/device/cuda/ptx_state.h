#pragma once
// Which variables of a PTX module can hold state from one launch to the next.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/device/cuda/ptx_lexer.h"

namespace ak::cuda {

struct PtxVariable {
  std::string_view name;
  std::string_view space;  ///< ".global" or ".const"
  bool external = false;
  bool initialized = false;
  bool array = false;
};

/// The variables that one statement declares; none for other statements.
std::vector<PtxVariable> declared_variables(const PtxStatement& statement);

/// Initialized variables that are written or whose address escapes, each with the reason. Follows addresses
/// through registers without regard to order, so that it may report too much, never too little.
std::map<std::string, std::string> find_written(const std::vector<PtxStatement>& statements,
                                                const std::vector<PtxVariable>& variables);

}  // namespace ak::cuda
