#pragma once
// What a C++ compiler adapter reads for a Source: the problem's dtype, flags, tunables and specialised dims
// as text, then the kernel file itself, numbered as its author sees it. The one generator for every device.
//
//   #include <cuda_fp16.h>                       (f16; cuda_bf16.h for bf16)
//   #define AK_DTYPE_F16 1
//   typedef __half scalar_t;
//   #define HAS_BIAS 1                           (flags, then tunables: integers, 0 or 1, or a string's own
//   tokens) constexpr int kN = 4096;                     (specialised dims) #line 1 "rmsnorm.cu"

#include <string>

#include "autokernel/base/result.h"
#include "autokernel/core/binary.h"

namespace ak::device {

/// Everything up to and including the `#line`. A usage error when a name is no identifier (or is one that C++
/// keeps for itself) or a string value does not fit on one line.
Result<std::string> source_prefix(const Source& source);

/// The prefix and the text.
Result<std::string> source_text(const Source& source);

}  // namespace ak::device
