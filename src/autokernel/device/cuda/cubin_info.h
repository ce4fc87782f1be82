#pragma once
// What a cubin says of its kernels: the resources that the launch limits are checked against. Read from the
// ELF itself, never from a log, which `#pragma message` can forge.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/base/result.h"

namespace ak::cuda {

struct CubinKernel {
  std::string symbol;
  std::uint32_t registers = 0;            ///< per thread
  std::uint32_t local_bytes = 0;          ///< per thread: stack frames and spills
  std::uint32_t static_shared_bytes = 0;  ///< per block, without the 1 KiB that the driver reserves
  std::vector<std::uint32_t> param_bytes;
};

struct CubinInfo {
  std::vector<CubinKernel> kernels;        ///< in the order of the symbol table
  std::uint64_t mutable_global_bytes = 0;  ///< size of .nv.global: zero-initialized device variables
  std::vector<std::string> imports;        ///< undefined functions

  const CubinKernel* find(std::string_view symbol) const;
};

/// Every offset and size is checked; fails on anything that is not a complete 64-bit little-endian ELF.
Result<CubinInfo> read_cubin(std::string_view bytes);

}  // namespace ak::cuda
