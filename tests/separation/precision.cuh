// Roundings that hardware or a careless kernel applies; for the separation test alone.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Round to nearest even, keeping `bits` bits of the fraction.
__device__ inline float keep_bits(float x, int bits) {
  unsigned u = __float_as_uint(x);
  unsigned drop = 23 - bits;
  unsigned half = (1u << (drop - 1)) - 1 + ((u >> drop) & 1);
  return __uint_as_float((u + half) & ~((1u << drop) - 1));
}

__device__ inline float as_tf32(float x) { return keep_bits(x, 10); }
__device__ inline float as_bf16(float x) { return keep_bits(x, 7); }
__device__ inline float as_f16(float x) { return __half2float(__float2half(x)); }

// Two bits less than the input's type, f16 or bf16.
__device__ inline float as_two_bits_less(float x) {
#ifdef AK_DTYPE_F16
  return keep_bits(x, 8);
#else
  return keep_bits(x, 5);
#endif
}

// e4m3: 3 bits of fraction, at most 448, steps of 2^-9 below 2^-6.
__device__ inline float as_e4m3(float x) {
  float clamped = fminf(fmaxf(x, -448.0f), 448.0f);
  if (fabsf(clamped) < 0.015625f) return rintf(clamped * 512.0f) / 512.0f;
  return keep_bits(clamped, 3);
}
