// Space::heuristic_order: which configs to measure first. An estimate from the launch alone, before anything
// is compiled; searches only use it for their first guesses.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "autokernel/kernel/bound_rule.h"
#include "autokernel/kernel/space.h"

namespace ak::kernel {
namespace {

/// Half of the resident threads hide latency nearly as well as all (Volkov, "Better Performance at Lower
/// Occupancy", GTC 2010).
constexpr double kEnoughOccupancy = 0.5;
constexpr double kMaxBlocksPerMultiprocessor = 32;
constexpr double kWidestLoadBytes = 16;
constexpr double kVectorWeight = 0.5, kWaveWeight = 1, kOccupancyWeight = 1, kSharedWeight = 0.1,
                 kWorkWeight = 0.25;

struct BoundLaunch {
  std::vector<BoundExpr> grid, block;
  std::optional<BoundExpr> shared_bytes;
};

/// Names of tunables that count elements of one load, by convention.
bool is_vector_width(std::string name) {
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name.starts_with("VEC") || name.ends_with("_VEC") || name == "WIDTH";
}

class Estimator {
 public:
  Estimator(const KernelFile& file, const TunableTable& table, const Names& names, const DeviceInfo& device)
      : table_(table),
        device_(device),
        elem_bytes_(static_cast<double>(names.find("elem_bytes").value_or(4))) {
    for (const LaunchSpec& spec : file.launches) {
      BoundLaunch& launch = launches_.emplace_back();
      for (const Expr& expr : spec.grid) launch.grid.emplace_back(expr, table, names);
      for (const Expr& expr : spec.block) launch.block.emplace_back(expr, table, names);
      if (spec.shared_bytes) launch.shared_bytes.emplace(*spec.shared_bytes, table, names);
    }
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (is_vector_width(table.tunables()[i].name)) vectors_.push_back(i);
    }
  }

  /// Higher is better.
  double score(std::span<const std::uint16_t> point) const {
    double score = 0;
    for (const BoundLaunch& launch : launches_) score += launch_score(launch, point);
    score /= static_cast<double>(launches_.size());
    for (const std::size_t tunable : vectors_) {
      const double width = static_cast<double>(table_.value(tunable, point[tunable])) * elem_bytes_;
      // Wider than one load gains nothing more and costs registers.
      if (width >= 1) score += kVectorWeight * (1 - std::abs(std::log2(width / kWidestLoadBytes)) / 4);
    }
    return score;
  }

 private:
  double product(const std::vector<BoundExpr>& exprs, std::span<const std::uint16_t> point) const {
    double result = 1;
    for (const BoundExpr& expr : exprs) result *= value(expr, point);
    return std::max(result, 1.0);
  }
  double value(const BoundExpr& expr, std::span<const std::uint16_t> point) const {
    return static_cast<double>(expr.evaluate(table_, point).value_or(0));
  }

  double launch_score(const BoundLaunch& launch, std::span<const std::uint16_t> point) const {
    const double threads = product(launch.block, point), blocks = product(launch.grid, point);
    const double shared = launch.shared_bytes ? std::max(0.0, value(*launch.shared_bytes, point)) : 0;
    const double multiprocessors = std::max<double>(1, device_.multiprocessors);
    // Where the threads of a block run one after another, fewer and longer ones are better; blocks must
    // suffice.
    if (device_.natural_block == 1) {
      return kWaveWeight * std::min(1.0, blocks / multiprocessors) -
             kWorkWeight * std::log2(threads * blocks);
    }
    const double warp = std::max<double>(1, device_.warp_size);
    const double allocated = std::ceil(threads / warp) * warp;
    double resident =
        std::min(kMaxBlocksPerMultiprocessor, std::floor(device_.max_threads_per_multiprocessor / allocated));
    if (shared > 0)
      resident = std::min(resident, std::floor(device_.shared_bytes_per_multiprocessor / shared));
    resident = std::max(resident, 1.0);
    // Of the whole device: a grid of less than a wave fills it partly.
    const double at_once = std::min(blocks, resident * multiprocessors);
    const double occupancy =
        std::min(1.0, at_once * allocated / (multiprocessors * device_.max_threads_per_multiprocessor));
    const double waves = blocks / (resident * multiprocessors);
    // Less than a wave leaves multiprocessors idle, a little more than one leaves a tail.
    const double wave_use = waves < 1 ? std::min(1.0, blocks / multiprocessors) : waves / std::ceil(waves);
    const double shared_use = shared / std::max<double>(1, device_.dynamic_shared_bytes);
    return kOccupancyWeight * std::min(occupancy, kEnoughOccupancy) / kEnoughOccupancy *
               (threads / allocated) +
           kWaveWeight * wave_use - kSharedWeight * shared_use;
  }

  const TunableTable& table_;
  const DeviceInfo& device_;
  double elem_bytes_;
  std::vector<BoundLaunch> launches_;
  std::vector<std::size_t> vectors_;
};

}  // namespace

std::vector<std::size_t> Space::heuristic_order(const KernelFile& file, const DeviceInfo& device,
                                                const Problem& problem) const {
  std::vector<std::size_t> order(count_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Names names(problem, device);
  // A space of recorded points, or of another file: nothing is known of its launches.
  if (file.tunables.size() != tunables_.size() || !check_known(file, names)) return order;
  const TunableTable table(file.tunables);
  const Estimator estimator(file, table, names, device);
  const std::vector<Rule> rules = rules_of(file);
  std::vector<BoundRule> bound;
  for (const Rule& rule : rules) bound.emplace_back(rule, table, names, device, BoundRule::Memory::kAnswers);
  const bool supported = !unsupported(file, problem, device);
  std::vector<double> scores(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    const std::span<const std::uint16_t> point = coordinates(i);
    const bool valid =
        supported && std::all_of(bound.begin(), bound.end(), [&](BoundRule& it) { return it.holds(point); });
    // Configs for other problems of the space come last.
    scores[i] = valid ? estimator.score(point) : -std::numeric_limits<double>::infinity();
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  if (const std::optional<std::size_t> defaults = index_of(file.defaults)) {
    const auto at = std::find(order.begin(), order.end(), *defaults);
    std::rotate(order.begin(), at, at + 1);
  }
  return order;
}

}  // namespace ak::kernel
