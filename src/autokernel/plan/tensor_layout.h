#pragma once
// Shapes with strides, brought from what PyTorch has to what a family declares.

#include <cstdint>
#include <vector>

namespace ak::plan {

struct Layout {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;  ///< in elements; empty: not recorded, taken as contiguous

  std::int64_t count() const;
  bool contiguous() const;
  bool channels_last() const;    ///< rank 4, and NCHW strides of an NHWC tensor
  bool transposed_view() const;  ///< the last dim but one is the dense one
  void to_channels_last();       ///< [N, C, H, W] becomes [N, H, W, C]
  void swap_last_two();
};

enum class Leading { kMerge, kKeep };
/// Merges leading dims, drops leading dims of 1 or adds them. False where the rank cannot be had. Merged dims
/// that no stride describes leave the strides of the tensor as it was.
bool fit_rank(Layout& layout, std::size_t rank, Leading leading);

}  // namespace ak::plan
