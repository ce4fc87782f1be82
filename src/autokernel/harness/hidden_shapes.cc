#include "autokernel/harness/hidden_shapes.h"

#include <algorithm>
#include <set>

namespace ak::harness {
namespace {

constexpr std::uint64_t kMaxElements = 1 << 16;
constexpr double kMaxFlops = 1 << 22;

/// Values of one dim worth trying: edges, primes, and the candidate's own tile sizes more or less one.
std::vector<std::int64_t> interesting(const Config& config, std::int64_t like) {
  std::set<std::int64_t> values = {1, 2, 3, 5, 7, 11, 17, 31, 33, 63, 65, 97, 127, 129, 257, like};
  if (like > 1 && like < 2048) {
    values.insert(like - 1);
    values.insert(like + 1);
  }
  for (const auto& [name, value] : config.values) {
    std::optional<std::int64_t> tile = as_int(value);
    if (!tile || *tile < 2 || *tile > 1024) continue;
    values.insert({*tile - 1, *tile, *tile + 1, 2 * *tile + 1});
  }
  return {values.begin(), values.end()};
}

Result<bool> is_small(const op::Family& family, const Problem& problem) {
  std::uint64_t elements = 0;
  for (const op::TensorSpec& tensor : family.tensors) {
    AK_TRY(count, op::element_count(family, tensor, problem));
    elements += count;
  }
  AK_TRY(flops, op::useful_flops(family, problem));
  return elements <= kMaxElements && flops <= kMaxFlops;
}

}  // namespace

Result<std::vector<Problem>> hidden_shapes(Context& context, const Candidate& candidate, const Problem& like,
                                           std::size_t count) {
  std::vector<Problem> found;
  std::set<std::string> seen;
  for (int attempt = 0; attempt < 400 && found.size() < count; ++attempt) {
    op::Size size;
    size.flags = like.flags;
    size.has = like.has;
    size.scalars = like.scalars;
    for (const std::string& dim : context.family.dims) {
      std::vector<std::int64_t> choices = interesting(candidate.config(), like.dims.at(dim));
      size.dims[dim] = choices[context.seeds.below(choices.size())];
    }
    Result<Problem> problem = op::make_problem(context.family, size, like.dtype);
    if (!problem) continue;  // the family's `where`
    Result<bool> small = is_small(context.family, *problem);
    if (!small || !*small || !seen.insert(problem->hash()).second) continue;
    AK_TRY(invalid, candidate.invalid_on(*problem));
    if (invalid) continue;
    found.push_back(std::move(*problem));
  }
  return found;
}

}  // namespace ak::harness
