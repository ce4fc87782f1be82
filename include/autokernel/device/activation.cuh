#pragma once
// Activations by their code, in float for kernels and in double for references:
//   0 none, 1 relu, 2 gelu (tanh), 3 gelu (erf), 4 silu
//
//   y[i] = ak::from_float<scalar_t>(ak::activate<ACT>(sum));

namespace ak {
namespace detail {

inline __device__ float exp_of(float x) { return expf(x); }
inline __device__ double exp_of(double x) { return exp(x); }
inline __device__ float tanh_of(float x) { return tanhf(x); }
inline __device__ double tanh_of(double x) { return tanh(x); }
inline __device__ float erf_of(float x) { return erff(x); }
inline __device__ double erf_of(double x) { return erf(x); }

}  // namespace detail

/// act(x); a NaN stays a NaN.
template <int kCode, class Real>
inline __device__ Real activate(Real x) {
  static_assert(kCode >= 0 && kCode <= 4, "ACT is 0 none, 1 relu, 2 gelu tanh, 3 gelu erf or 4 silu");
  if (kCode == 1) return x < Real(0) ? Real(0) : x;
  if (kCode == 2) {
    const Real inner = Real(0.7978845608028654) * (x + Real(0.044715) * x * x * x);  // sqrt(2 / pi)
    return Real(0.5) * x * (Real(1) + detail::tanh_of(inner));
  }
  if (kCode == 3) return Real(0.5) * x * (Real(1) + detail::erf_of(x * Real(0.7071067811865476)));  // 1 / sqrt(2)
  if (kCode == 4) return x / (Real(1) + detail::exp_of(-x));
  return x;
}

/// The same where the code is known at run time only.
template <class Real>
static __device__ __noinline__ Real activate(int code, Real x) {
  if (code == 1) return activate<1>(x);
  if (code == 2) return activate<2>(x);
  if (code == 3) return activate<3>(x);
  if (code == 4) return activate<4>(x);
  return x;
}

}  // namespace ak
