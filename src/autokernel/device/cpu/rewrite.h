#pragma once
// The token rewrite that makes CUDA C++ digestible for a host compiler; line numbers stay what they were.
//
//   __shared__ alignas(16) float t[4], s;      ->  alignas(16) static __thread float t[4], s;
//   extern __shared__ float raw[];             ->  a pointer to the block's dynamic shared memory
//   __constant__ float table[9] = {...};       ->  const data
//   asm volatile("...")                        ->  a static_assert that says what is not supported, where it
//   compiles
//
// In the checked build shared variables become references to the thread-local storage
// (SharedForm::kReference): the sanitizer does not watch direct accesses to thread-local variables.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autokernel/core/failure.h"

namespace ak::cpu {

enum class SharedForm { kDirect, kReference };

struct Rewritten {
  std::string text;                   ///< as many lines as the input
  std::vector<std::string> kernels;   ///< names of __global__ functions, in order
  bool kernels_from_macros = false;   ///< a macro's body mentions __global__: the list may be incomplete
  bool has_volatile = false;          ///< `volatile` other than `asm volatile`
  bool may_block = false;             ///< mentions a barrier, warp function or atomic
  bool has_global_index = false;      ///< computes `blockIdx.x * blockDim.x` in 32 bits
  std::vector<std::string> includes;  ///< as written, without quotes or angle brackets
};

struct RewriteFailure {
  FailureKind kind = FailureKind::kCompile;
  std::string check = "compile";  ///< id of HARNESS.md
  int line = 1;
  std::string message;
};

struct RewriteOutcome {
  Rewritten code;
  std::optional<RewriteFailure> failure;  ///< `code` is empty then
};

RewriteOutcome rewrite(std::string_view text, SharedForm form);

}  // namespace ak::cpu
