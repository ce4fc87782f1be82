#pragma once
// Conversions between storage types and float, the same on every device. Included by kernels:
//
//   #include "autokernel/device/convert.cuh"
//   const float v = ak::to_float(x[i]);
//   y[i] = ak::from_float<scalar_t>(v);      // one rounding, to nearest even
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ak {

inline __device__ float to_float(float value) { return value; }
inline __device__ float to_float(__half value) { return __half2float(value); }
inline __device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

namespace detail {
template <class T>
struct From;
template <>
struct From<float> {
  static __device__ float convert(float value) { return value; }
};
template <>
struct From<__half> {
  static __device__ __half convert(float value) { return __float2half_rn(value); }
};
template <>
struct From<__nv_bfloat16> {
  static __device__ __nv_bfloat16 convert(float value) { return __float2bfloat16_rn(value); }
};
}  // namespace detail

/// Positive infinity; NVRTC has no INFINITY without a header of the host.
inline __device__ float infinity() { return __int_as_float(0x7f800000); }

/// The smallest normal number of T: below it the roundings of T are as large as at it.
template <class T>
inline __device__ float smallest_normal() {
  return 0x1p-126f;
}
template <>
inline __device__ float smallest_normal<__half>() {
  return 0x1p-14f;
}

/// The nearest value of T, ties to even.
template <class T>
inline __device__ T from_float(float value) {
  return detail::From<T>::convert(value);
}

}  // namespace ak
