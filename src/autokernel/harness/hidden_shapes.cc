#include "autokernel/harness/hidden_shapes.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "autokernel/harness/sizes.h"

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
  AK_TRY(elements, total_elements(family, problem));
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

/// The integers that an expression spells, each with its neighbours.
void add_literals(const Expr& expr, std::set<std::int64_t>& values) {
  const std::string& text = expr.text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!std::isdigit(static_cast<unsigned char>(text[at])) ||
        (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_'))) {
      continue;
    }
    std::int64_t value = 0;
    if (std::from_chars(text.data() + at, text.data() + text.size(), value).ec != std::errc{}) continue;
    for (std::int64_t near : {value - 1, value, value + 1}) {
      if (near >= 1) values.insert(near);
    }
  }
}

/// Makes problems near a given one and asks whether the candidate takes them.
class Maker {
 public:
  Maker(Context& context, const Candidate& candidate, const Problem& like)
      : context_(context), candidate_(candidate), like_(like) {}

  /// nullopt: the family's `where`, the candidate's `needs` or the size speak against it.
  Result<std::optional<Problem>> make(const NamedInts& dims,
                                      const std::map<std::string, double>& scalars) const {
    op::Size size{.dims = dims, .flags = like_.flags, .has = like_.has, .scalars = scalars};
    Result<Problem> problem = op::make_problem(context_.family, size, like_.dtype);
    if (!problem) return std::optional<Problem>();
    Result<bool> small = is_small(context_.family, *problem);
    if (!small || !*small) return std::optional<Problem>();
    AK_TRY(invalid, candidate_.invalid_on(*problem));
    return invalid ? std::optional<Problem>() : std::optional(std::move(*problem));
  }

  /// Problems that lie just inside of a bound of `needs`: one more or one less of a dim is outside. (Those
  /// outside are refused by the same `needs`, in the harness as in a package.)
  Result<std::vector<Problem>> on_bounds(const std::vector<NamedInts>& points) const {
    std::vector<Problem> found;
    for (const Expr& bound : candidate_.file().needs) {
      for (const std::string& dim : context_.family.dims) {
        if (std::find(bound.names().begin(), bound.names().end(), dim) == bound.names().end()) continue;
        AK_TRY(inside, inside_of(bound, dim, points));
        found.insert(found.end(), inside.begin(), inside.end());
      }
    }
    return found;
  }

 private:
  Result<std::vector<Problem>> inside_of(const Expr& bound, const std::string& dim,
                                         const std::vector<NamedInts>& points) const {
    const std::vector<std::int64_t> usual = interesting(candidate_.config(), like_.dims.at(dim));
    std::set<std::int64_t> values(usual.begin(), usual.end());
    add_literals(bound, values);
    std::vector<Problem> found;
    for (auto value = values.rbegin(); value != values.rend(); ++value) {
      for (NamedInts dims : points) {
        dims[dim] = *value;
        AK_TRY(problem, make(dims, like_.scalars));
        if (!problem) continue;
        AK_TRY(edge, is_edge(bound, dims, dim));
        if (edge) found.push_back(std::move(*problem));
        break;
      }
    }
    return found;
  }

  /// Does `bound` fail for one more or one less of `dim`?
  Result<bool> is_edge(const Expr& bound, const NamedInts& dims, const std::string& dim) const {
    for (std::int64_t step : {1, -1}) {
      NamedInts beside = dims;
      beside[dim] += step;
      if (beside[dim] < 1) continue;
      Result<std::int64_t> holds = bound.evaluate([&](std::string_view name) -> std::optional<std::int64_t> {
        const std::string key(name);
        if (auto it = beside.find(key); it != beside.end()) return it->second;
        if (auto it = like_.flags.find(key); it != like_.flags.end()) return it->second;
        auto it = candidate_.config().values.find(key);
        return it == candidate_.config().values.end() ? std::nullopt : as_int(it->second);
      });
      if (holds && *holds == 0) return true;
    }
    return false;
  }

  Context& context_;
  const Candidate& candidate_;
  const Problem& like_;
};

}  // namespace

Result<std::vector<Problem>> hidden_shapes(Context& context, const Candidate& candidate, const Problem& like,
                                           std::size_t count) {
  const Maker maker(context, candidate, like);
  std::vector<NamedInts> points = starting_points(context.family, like);
  AK_TRY(found, maker.on_bounds(points));
  context.seeds.shuffle(found);
  found.resize(std::min(found.size(), count / 2));
  std::set<std::string> seen;
  for (const Problem& problem : found) seen.insert(problem.hash());
  for (int attempt = 0; attempt < kAttempts && found.size() < count; ++attempt) {
    std::map<std::string, double> scalars = like.scalars;
    for (const op::ScalarSpec& scalar : context.family.scalars) {  // a kernel must not assume those either
      std::size_t choice = context.seeds.below(scalar.test_values.size() + 1);
      if (choice > 0) scalars[scalar.name] = scalar.test_values[choice - 1];
    }
    // All dims at once, as long as that finds something: it hardly ever obeys the `where` of a family with
    // many dims.
    const bool all = attempt < kWildAttempts;
    const NamedInts& point = points[context.seeds.below(points.size())];
    const std::size_t changed = context.seeds.below(context.family.dims.size());
    NamedInts dims;
    for (std::size_t i = 0; i < context.family.dims.size(); ++i) {
      const std::string& dim = context.family.dims[i];
      std::vector<std::int64_t> choices = interesting(candidate.config(), like.dims.at(dim));
      bool change = all || i == changed || context.seeds.below(2) == 0;
      dims[dim] = change ? choices[context.seeds.below(choices.size())] : point.at(dim);
    }
    AK_TRY(problem, maker.make(dims, scalars));
    if (!problem || !seen.insert(problem->hash()).second) continue;
    points.push_back(std::move(dims));
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
