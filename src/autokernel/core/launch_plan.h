#pragma once
// A launch plan: the front matter's launches evaluated for one config and problem. Pure data; the harness
// binds tensors and workspaces to buffers.

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ak {

struct TensorArg {
  std::string tensor;  ///< name in the family, or of a workspace; absent optional tensors are null pointers
};
struct NullArg {};
struct TensorMapArg {
  std::string name;  ///< a [[tensormap]]
};
/// int -> kernel `int`, float -> kernel `float`; 64-bit and double for trusted kernels.
using LaunchArg = std::variant<TensorArg, NullArg, TensorMapArg, std::int32_t, std::int64_t, float, double>;

struct LaunchStep {
  std::string entry;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::array<std::uint32_t, 3> cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;  ///< dynamic
  bool cooperative = false;
  std::vector<LaunchArg> args;
};

struct WorkspacePlan {
  std::string name;
  std::uint64_t bytes = 0;
  bool zeroed = false;  ///< zeroing is part of the timed work
};

struct TensorMapPlan {
  std::string name;
  std::string tensor;
  std::vector<std::uint32_t> box;  ///< elements, innermost last
  int swizzle_bytes = 0;
};

struct LaunchPlan {
  std::vector<WorkspacePlan> workspaces;
  std::vector<TensorMapPlan> tensor_maps;
  std::vector<LaunchStep> steps;
};

}  // namespace ak
