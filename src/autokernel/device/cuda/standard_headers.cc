#include "autokernel/device/cuda/standard_headers.h"

namespace ak::cuda {
namespace {

constexpr const char* kPreamble = R"(#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
namespace std {
using ::int8_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::uint8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::intptr_t;
using ::uintptr_t;
}
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define UINT64_MAX 18446744073709551615ULL
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-016
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#define M_PI 3.14159265358979323846
#define M_SQRT1_2 0.70710678118654752440
#define M_2_SQRTPI 1.12837916709551257390
#define M_LOG2E 1.44269504088896340736
#define M_LN2 0.69314718055994530942
)";

// A failed assertion traps, as on every device of ours; nvcc's would call a function of the driver.
constexpr const char* kAssert = R"(#pragma once
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __trap())
#endif
)";

}  // namespace

std::vector<NvrtcHeader> standard_headers() {
  std::vector<NvrtcHeader> headers{{kPreambleName, kPreamble}, {"assert.h", kAssert}, {"cassert", kAssert}};
  for (const char* name :
       {"stdint.h", "cstdint", "limits.h", "climits", "float.h", "cfloat", "math.h", "cmath", "stddef.h",
        "cstddef", "stdio.h", "cstdio", "stdlib.h", "cstdlib", "string.h", "cstring"}) {
    headers.push_back({name, "#pragma once\n"});
  }
  return headers;
}

}  // namespace ak::cuda
