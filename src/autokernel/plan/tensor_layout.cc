#include "autokernel/plan/tensor_layout.h"

#include <algorithm>
#include <utility>

namespace ak::plan {

std::int64_t Layout::count() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) return -1;
  }
  return count;
}

bool Layout::contiguous() const {
  if (strides.empty()) return true;
  if (strides.size() != dims.size()) return false;
  std::int64_t expected = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (strides[i] != expected || __builtin_mul_overflow(expected, dims[i], &expected)) return false;
  }
  return true;
}

bool Layout::channels_last() const {
  if (dims.size() != 4 || strides.size() != 4 || contiguous()) return false;
  Layout moved = *this;
  moved.to_channels_last();
  return moved.contiguous();
}

bool Layout::transposed_view() const {
  const std::size_t rank = dims.size();
  if (rank < 2 || strides.size() != rank || dims[rank - 1] == 1) return false;
  return strides[rank - 2] == 1 && strides[rank - 1] >= dims[rank - 2] &&
         (dims[rank - 2] > 1 || strides[rank - 1] > 1);
}

void Layout::to_channels_last() {
  for (std::vector<std::int64_t>* each : {&dims, &strides}) {
    if (each->size() == 4) std::rotate(each->begin() + 1, each->begin() + 2, each->end());
  }
}

void Layout::swap_last_two() {
  for (std::vector<std::int64_t>* each : {&dims, &strides}) {
    if (each->size() >= 2) std::swap(each->end()[-1], each->end()[-2]);
  }
}

bool fit_rank(Layout& layout, std::size_t rank, Leading leading) {
  std::vector<std::int64_t>&dims = layout.dims, &strides = layout.strides;
  const std::vector<std::int64_t> original = strides;
  bool regular = true;
  while (dims.size() > rank && rank > 0) {
    if (dims[0] != 1 && leading == Leading::kKeep) return false;
    if (!strides.empty()) {
      std::int64_t step = 0;
      const bool fits = dims[0] == 1 || dims[1] == 1 ||
                        (!__builtin_mul_overflow(dims[1], strides[1], &step) && strides[0] == step);
      regular = regular && fits;
      if (dims[1] == 1) strides[1] = strides[0];
      strides.erase(strides.begin());
    }
    std::int64_t merged = 0;
    if (__builtin_mul_overflow(dims[0], dims[1], &merged)) return false;
    dims.erase(dims.begin());
    dims[0] = merged;
  }
  while (dims.size() < rank) {
    if (!strides.empty()) {
      std::int64_t outer = 0;
      if (__builtin_mul_overflow(dims[0], strides[0], &outer)) return false;
      strides.insert(strides.begin(), outer);
    }
    dims.insert(dims.begin(), 1);
  }
  if (!regular) strides = original;
  return dims.size() == rank;
}

}  // namespace ak::plan
