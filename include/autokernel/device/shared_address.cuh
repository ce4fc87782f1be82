#pragma once
// The address of shared memory as PTX instructions take it: 32 bits within the block's window.

namespace ak {

inline __device__ unsigned shared_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

}  // namespace ak
