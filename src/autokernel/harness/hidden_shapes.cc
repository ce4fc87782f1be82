#include "autokernel/harness/hidden_shapes.h"

#include <algorithm>
#include <set>

namespace ak::harness {
namespace {

constexpr std::uint64_t kMaxElements = 1 << 16;
constexpr double kMaxFlops = 1 << 22;
constexpr int kAttempts = 400;
constexpr int kWildAttempts = 100;  ///< of those, how many change every dim

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

/// Dims that go together, to start from: those of `like`, of the family's smallest sizes, and of what was
/// found.
std::vector<NamedInts> starting_points(const op::Family& family, const Problem& like) {
  std::vector<NamedInts> points = {like.dims};
  auto smoke = family.sizes.find("smoke");
  if (smoke == family.sizes.end()) return points;
  for (const op::Size& size : smoke->second) {
    NamedInts dims = like.dims;
    for (const auto& [dim, value] : size.dims) dims[dim] = value;
    points.push_back(std::move(dims));
  }
  return points;
}

}  // namespace

Result<std::vector<Problem>> hidden_shapes(Context& context, const Candidate& candidate, const Problem& like,
                                           std::size_t count) {
  std::vector<Problem> found;
  std::set<std::string> seen;
  std::vector<NamedInts> points = starting_points(context.family, like);
  for (int attempt = 0; attempt < kAttempts && found.size() < count; ++attempt) {
    op::Size size;
    size.flags = like.flags;
    size.has = like.has;
    size.scalars = like.scalars;
    for (const op::ScalarSpec& scalar : context.family.scalars) {  // a kernel must not assume those either
      std::size_t choice = context.seeds.below(scalar.test_values.size() + 1);
      if (choice > 0) size.scalars[scalar.name] = scalar.test_values[choice - 1];
    }
    // All dims at once, as long as that finds something: it hardly ever obeys the `where` of a family with
    // many dims.
    const bool all = attempt < kWildAttempts;
    const NamedInts& point = points[context.seeds.below(points.size())];
    const std::size_t changed = context.seeds.below(context.family.dims.size());
    for (std::size_t i = 0; i < context.family.dims.size(); ++i) {
      const std::string& dim = context.family.dims[i];
      std::vector<std::int64_t> choices = interesting(candidate.config(), like.dims.at(dim));
      bool change = all || i == changed || context.seeds.below(2) == 0;
      size.dims[dim] = change ? choices[context.seeds.below(choices.size())] : point.at(dim);
    }
    Result<Problem> problem = op::make_problem(context.family, size, like.dtype);
    if (!problem) continue;  // the family's `where`
    Result<bool> small = is_small(context.family, *problem);
    if (!small || !*small || !seen.insert(problem->hash()).second) continue;
    AK_TRY(invalid, candidate.invalid_on(*problem));
    if (invalid) continue;
    points.push_back(size.dims);
    found.push_back(std::move(*problem));
  }
  return found;
}

Result<std::vector<Problem>> small_variants(const Context& context, const Candidate& candidate,
                                            const Problem& like) {
  AK_TRY(small, is_small(context.family, like));
  if (small) return std::vector<Problem>{like};
  std::vector<Problem> found;
  std::set<std::string> seen;
  for (const std::string& dim : context.family.dims) {
    for (const NamedInts& point : starting_points(context.family, like)) {
      op::Size size{point, like.flags, like.has, like.scalars};
      size.dims[dim] = like.dims.at(dim);
      Result<Problem> problem = op::make_problem(context.family, size, like.dtype);
      if (!problem) continue;  // the family's `where`
      AK_TRY(fits, is_small(context.family, *problem));
      AK_TRY(invalid, candidate.invalid_on(*problem));
      if (!fits || invalid || !seen.insert(problem->hash()).second) continue;
      found.push_back(std::move(*problem));
      break;
    }
  }
  return found;
}

}  // namespace ak::harness
